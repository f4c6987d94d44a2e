import path from 'node:path';
import type { McpHost } from '../mcp/host-options.ts';
import { isEngineError } from '../protocol/error.ts';
import type { McpAuthorization } from '../protocol/mcp.ts';
import { openBrowser } from './browser.ts';
import type { CommonOptions } from './command.ts';
import { type ExitCode, exitCodes, UsageError } from './failure.ts';
import { takeInterrupts } from './interrupts.ts';
import type { CliIo } from './io.ts';
import { openMcpSession, openServer } from './mcp-session.ts';
import { openProject } from './project.ts';

/** `vibe-bus mcp login <name>`: lets the user agree in a browser, and stores the token. */
export async function logIn(
  io: CliIo,
  name: string,
  options: CommonOptions & { readonly browser: boolean },
): Promise<ExitCode> {
  const project = await openProject(io, options);
  using _interrupts = takeInterrupts(io);
  await using session = await openServer(io, project, name);
  const authorization = await session.mcp.authorize(name);
  io.err(`Agree in the browser, at\n  ${authorization.url}\n`);
  if (options.browser) openBrowser(authorization.url, io.env);
  await waitForAnswer(io, authorization);
  await showStatus(io, session.mcp, name, options);
  return exitCodes.ok;
}

/** `vibe-bus mcp logout <name>`: revokes and deletes the token. */
export async function logOut(io: CliIo, name: string, options: CommonOptions): Promise<ExitCode> {
  const project = await openProject(io, options);
  using _interrupts = takeInterrupts(io);
  await using session = await openServer(io, project, name);
  await session.mcp.signOut(name);
  if (options.json === true) io.out(`${JSON.stringify({ name, connected: false })}\n`);
  else io.out(`The token of ${name} is deleted.\n`);
  return exitCodes.ok;
}

/** `vibe-bus mcp import-tokens <file>`: moves plaintext tokens of an older version into the store. */
export async function importTokens(io: CliIo, file: string, options: CommonOptions): Promise<ExitCode> {
  const project = await openProject(io, options);
  await using session = await openMcpSession(io, project, project.isTrusted);
  const result = await session.mcp.importTokens(path.resolve(io.cwd, file));
  if (result === undefined) throw new UsageError(`${file} is no file of tokens: a JSON object of server to token`);
  if (options.json === true) {
    io.out(`${JSON.stringify({ migrated: result.migrated, file_deleted: result.isDone })}\n`);
  } else {
    const kept = 'the file is kept: not every entry in it is a token';
    io.out(`${result.migrated} tokens were moved to the store; ${result.isDone ? 'the file is deleted' : kept}.\n`);
  }
  return result.isDone ? exitCodes.ok : exitCodes.failed;
}

/** The answer comes by the browser, or from the terminal where the browser runs elsewhere. */
async function waitForAnswer(io: CliIo, authorization: McpAuthorization): Promise<void> {
  const over = new AbortController();
  const ended = authorization.done.finally(() => over.abort());
  ended.catch(() => {});
  while (io.canAsk && !over.signal.aborted) {
    const text = await io.ask('Or paste the address it ended at here: ', over.signal);
    if (over.signal.aborted) break;
    if (text.trim() === '') authorization.cancel();
    else await handIn(io, authorization, text);
  }
  await ended;
}

async function handIn(io: CliIo, authorization: McpAuthorization, text: string): Promise<void> {
  try {
    await authorization.complete(text);
  } catch (error) {
    // why: it still waits for the right answer; every other failure ends it and is told there
    if (isEngineError(error) && error.code === 'oauth_state_mismatch') io.err(`${error.message}\n`);
  }
}

async function showStatus(io: CliIo, mcp: McpHost, name: string, options: CommonOptions): Promise<void> {
  const status = await mcp.tokenStatus(name);
  if (options.json === true) return io.out(`${JSON.stringify({ name, ...status })}\n`);
  const until = status.expires_at === undefined ? '' : ` until ${new Date(status.expires_at).toISOString()}`;
  io.out(`${name} is connected${until}${status.renews ? ', and renewed on use' : ''}.\n`);
}
