import { spawn } from 'node:child_process';
import { isLoopbackHost } from '../mcp/server-url.ts';
import type { Environment } from '../store/paths.ts';

/**
 * Opens an address in the user's browser, as one argument of a program and never through a shell (OA7). Whether a browser
 * came of it nobody says; the caller shows the address as well.
 * @param url https, or http on this machine; others are not opened
 */
export function openBrowser(url: string, env: Environment, platform: NodeJS.Platform = process.platform): void {
  const { protocol, hostname, href } = new URL(url);
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopbackHost(hostname))) return;
  const [program, ...before] = openers[platform] ?? ['xdg-open'];
  const child = spawn(program, [...before, href], { stdio: 'ignore', detached: true, env: { ...env } });
  // why: a machine without a browser; the address can be opened elsewhere
  child.on('error', () => {});
  child.unref();
}

const openers: { readonly [platform: string]: readonly [string, ...string[]] } = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};
