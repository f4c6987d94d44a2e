import { realpath } from 'node:fs/promises';
import { messageOf } from '../protocol/error.ts';
import { toPrintableLine } from '../telemetry/printable.ts';
import { explainCommand } from '../tools/shell-policy.ts';
import {
  checkGit,
  checkNode,
  checkPlugins,
  checkProviders,
  checkSandbox,
  checkWorkers,
  type Finding,
} from './doctor-checks.ts';
import { type ExitCode, exitCodes, UsageError } from './failure.ts';
import { isInGitRepository } from './git.ts';
import { takeInterrupts } from './interrupts.ts';
import type { CliIo } from './io.ts';
import type { CommonOptions } from './command.ts';
import { openProject, type Project } from './project.ts';
import { createStyle } from './style.ts';
import { pad } from './table.ts';

/** `vibe-bus doctor`: exit code 1 when something will not work, 0 when only extras are missing. */
export async function runDoctor(io: CliIo, options: CommonOptions): Promise<ExitCode> {
  using _interrupts = takeInterrupts(io);
  const findings: Finding[] = [
    checkNode(process.versions.node),
    await checkGit(),
    await checkSandbox(process.platform),
  ];
  const project = await openProjectOr(io, options, findings);
  if (project !== undefined) {
    findings.push(await checkFolder(project));
    findings.push(checkTrustOf(project));
    findings.push(...checkProviders(io, project));
    findings.push(await checkWorkers());
    findings.push(...(await checkPlugins(io, project)));
  }
  if (options.json === true) io.out(`${JSON.stringify(findings)}\n`);
  else io.out(describe(findings, io));
  return findings.some((finding) => finding.state === 'fail') ? exitCodes.failed : exitCodes.ok;
}

/** `vibe-bus doctor --explain <command>`: how the shell policy judges a command, program by program; runs nothing. */
export async function explainShellCommand(io: CliIo, command: string, options: CommonOptions): Promise<ExitCode> {
  const project = await openProject(io, options);
  const security = (project.isTrusted ? project.loaded.config : project.loaded.restricted).security ?? {};
  const { verdict, findings } = explainCommand(command, {
    // as the tool itself: `pwd` may have led here through a link
    root: await realpath(project.root),
    spelling: project.root,
    network: security.allow_network === true,
    config: security,
  });
  const parts = findings.map((finding) => ({
    command: finding.command,
    allowed: finding.denial === undefined,
    reason: finding.denial?.sentence ?? null,
  }));
  if (options.json === true) {
    const reason = verdict.allow ? null : verdict.sentence;
    io.out(`${JSON.stringify({ allowed: verdict.allow, reason, parts })}\n`);
  } else {
    const style = createStyle(io.hasColors);
    findings.forEach(({ command: part, denial }, index) => {
      // An empty command has no part to show.
      if (part.trim() === '') return;
      const mark = denial === undefined ? style.good('allowed') : style.bad('denied ');
      const isInherited = findings.slice(0, index).some((inner) => denial !== undefined && inner.denial === denial);
      const reason = isInherited ? 'because of what it runs' : denial?.sentence;
      io.out(`${mark}  ${toPrintableLine(part)}${reason === undefined ? '' : `: ${toPrintableLine(reason)}`}\n`);
    });
    io.out(verdict.allow ? 'The command may run.\n' : `The command is denied. ${toPrintableLine(verdict.sentence)}\n`);
  }
  return verdict.allow ? exitCodes.ok : exitCodes.failed;
}

/** A broken configuration is a finding, not the end of the report. */
async function openProjectOr(io: CliIo, options: CommonOptions, findings: Finding[]): Promise<Project | undefined> {
  try {
    const project = await openProject(io, options);
    const files = project.loaded.layers.length;
    findings.push({ state: 'ok', name: 'configuration', text: files === 0 ? 'defaults only' : `${files} files read` });
    return project;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    findings.push({
      state: 'fail',
      name: 'configuration',
      text: messageOf(error),
      way_out: 'correct the file; `vibe-bus config show --default` prints the keys',
    });
    return undefined;
  }
}

async function checkFolder(project: Project): Promise<Finding> {
  if (await isInGitRepository(project.root)) return { state: 'ok', name: 'folder', text: 'in a git repository' };
  const wayOut = 'run `git init`, or give `--no-git` to `vibe-bus run`';
  return { state: 'warn', name: 'folder', text: 'in no git repository', way_out: wayOut };
}

function checkTrustOf(project: Project): Finding {
  const name = 'trust';
  switch (project.trust.state) {
    case 'not_needed':
      return { state: 'ok', name, text: 'the project starts nothing of its own' };
    case 'granted':
      return { state: 'ok', name, text: `the project and its ${project.trust.parts.length} parts are trusted` };
    case 'changed':
      return { state: 'warn', name, text: 'the project changed since it was trusted', way_out: 'run `vibe-bus trust`' };
    case 'unknown':
      return { state: 'warn', name, text: 'the project is not trusted yet', way_out: 'run `vibe-bus trust`' };
  }
}

function describe(findings: readonly Finding[], io: CliIo): string {
  const style = createStyle(io.hasColors);
  const marks = { ok: style.good('ok  '), warn: style.caution('warn'), fail: style.bad('FAIL') };
  const width = Math.max(...findings.map((finding) => finding.name.length));
  return findings
    .map(({ state, name, text, way_out: wayOut }) => {
      const rest = wayOut === undefined ? text : `${text}; ${wayOut}`;
      return `${marks[state]}  ${pad(toPrintableLine(name), width)}  ${toPrintableLine(rest)}\n`;
    })
    .join('');
}
