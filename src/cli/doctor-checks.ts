import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { defaultConfig, type ProviderConfig } from '../config/schema.ts';
import { createEngine } from '../engine.ts';
import { messageOf } from '../protocol/error.ts';
import { createRandomIds } from '../protocol/ids.ts';
import { defaultPermissions } from '../protocol/tool.ts';
import { findKind } from '../providers/provider.ts';
import { toOutput } from '../tools/output.ts';
import { listDeclarations } from './declarations.ts';
import type { CliIo } from './io.ts';
import { openPluginSession } from './plugin-session.ts';
import type { Project } from './project.ts';

/** One line of the report: what was looked at, how it stands, and the way out when something is missing. */
export interface Finding {
  /** `warn`: works without it; `fail`: something will not work. */
  readonly state: 'ok' | 'warn' | 'fail';
  readonly name: string;
  readonly text: string;
  readonly way_out?: string;
}

export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isEnough = major > 20 || (major === 20 && minor >= 19);
  if (isEnough) return { state: 'ok', name: 'node', text: version };
  return { state: 'fail', name: 'node', text: version, way_out: 'install Node 20.19 or newer' };
}

export async function checkGit(): Promise<Finding> {
  const answer = await tryProgram('git', ['--version']);
  if (answer.isOk) return { state: 'ok', name: 'git', text: answer.text.replace(/^git version /, '') };
  return {
    state: 'warn',
    name: 'git',
    text: 'not found',
    way_out: 'install git; agents use it to see what they changed',
  };
}

/** Runs a program confined for real: that bwrap is installed proves nothing where user namespaces are forbidden. */
export async function checkSandbox(platform: NodeJS.Platform): Promise<Finding> {
  const name = 'sandbox';
  if (platform !== 'linux') {
    return { state: 'warn', name, text: `not available on ${platform}`, way_out: 'the shell policy still applies' };
  }
  const profile = ['--ro-bind', '/', '/', '--unshare-all', '--die-with-parent', '--', 'true'];
  const answer = await tryProgram('bwrap', profile);
  if (answer.isOk) return { state: 'ok', name, text: 'bwrap works' };
  if (answer.isMissing) {
    return {
      state: 'warn',
      name,
      text: 'bwrap not found',
      way_out: 'install bubblewrap to confine commands and servers',
    };
  }
  const wayOut = 'allow unprivileged user namespaces, or run without confinement';
  return { state: 'warn', name, text: `bwrap cannot start: ${answer.text}`, way_out: wayOut };
}

/** One line per provider: whether it has a key, never the key. */
export function checkProviders(io: CliIo, project: Project): readonly Finding[] {
  const { loaded, isTrusted } = project;
  const configured = (isTrusted ? loaded.config : loaded.restricted).providers ?? defaultConfig.providers ?? {};
  const found = Object.entries(configured).map(([name, table]) => checkProvider(io, name, table));
  const isUsable = found.some((finding) => finding.state === 'ok');
  // several providers are a choice: a missing key is a problem only when nothing else can be used
  return isUsable ? found : found.map((finding) => ({ ...finding, state: 'fail' as const }));
}

function checkProvider(io: CliIo, providerName: string, table: ProviderConfig): Finding {
  const name = `provider ${providerName}`;
  let variable: string | undefined;
  try {
    variable = table.api_key_env ?? findKind(providerName, table.kind ?? providerName, undefined).keyVariable;
  } catch (error) {
    return { state: 'fail', name, text: messageOf(error), way_out: 'correct `kind` in the configuration' };
  }
  if ((table.api_key ?? '') !== '') return { state: 'ok', name, text: 'key set in the configuration' };
  if (variable === undefined) return { state: 'ok', name, text: 'needs no key' };
  if ((io.env[variable] ?? '') !== '') return { state: 'ok', name, text: `key found in ${variable}` };
  return { state: 'warn', name, text: 'no key', way_out: `set ${variable}` };
}

/** Starts a real worker thread and lets it do a real call. */
export async function checkWorkers(): Promise<Finding> {
  const name = 'worker threads';
  const startedAt = performance.now();
  const empty = await mkdtemp(path.join(tmpdir(), 'vibe-bus-doctor-'));
  try {
    // why: in an empty folder with an empty user folder it is the thread that is looked at, and nothing else starts
    await using engine = await createEngine({ root: empty, configDir: empty });
    const tool = engine.tools.get('list_dir');
    const context = {
      workspace_root: empty,
      permissions: defaultPermissions,
      agent: 'anonymous',
      call: createRandomIds().call(),
      signal: new AbortController().signal,
    };
    const output = toOutput(await tool?.call({ path: '.', depth: 1 }, context));
    if (output.is_error) return { state: 'fail', name, text: output.content, way_out: 'run with VIBE_LOG=debug' };
    return { state: 'ok', name, text: `first answer after ${Math.round(performance.now() - startedAt)} ms` };
  } catch (error) {
    return { state: 'fail', name, text: messageOf(error), way_out: 'run with VIBE_LOG=debug' };
  } finally {
    await rm(empty, { recursive: true, force: true });
  }
}

/** One line per declared plugin: its handshake, or why it was not started. */
export async function checkPlugins(io: CliIo, project: Project): Promise<readonly Finding[]> {
  const plugins = await listDeclarations(io, project);
  return await Promise.all(
    plugins.map(async ({ declaration, isTrusted }): Promise<Finding> => {
      const name = `plugin ${declaration.name}`;
      if (!isTrusted) {
        return { state: 'warn', name, text: 'not trusted, not started', way_out: 'run `vibe-bus trust`' };
      }
      try {
        await using session = await openPluginSession(io, project, declaration);
        const offers = [`${session.tools.length} tools`, `${session.agents.length} agents`];
        if (session.hooks.length > 0) offers.push('a hook');
        const time = `${Math.round(session.startedInMs)} ms`;
        return { state: 'ok', name, text: `version ${session.version}, ${offers.join(', ')}, up in ${time}` };
      } catch (error) {
        const wayOut = 'correct its declaration, then try `vibe-bus plugins test`';
        return {
          state: declaration.required === true ? 'fail' : 'warn',
          name,
          text: messageOf(error),
          way_out: wayOut,
        };
      }
    }),
  );
}

interface ProgramAnswer {
  readonly isOk: boolean;
  readonly isMissing: boolean;
  /** First line of what it said. */
  readonly text: string;
}

function tryProgram(program: string, args: readonly string[]): Promise<ProgramAnswer> {
  return new Promise((resolve) => {
    execFile(program, [...args], { timeout: 10_000 }, (error, stdout, stderr) => {
      const [text = ''] = (stdout.trim() === '' ? stderr : stdout).trim().split('\n');
      resolve({ isOk: error === null, isMissing: error?.code === 'ENOENT', text });
    });
  });
}
