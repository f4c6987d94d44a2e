import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { events } from '../../src/bus/events.ts';
import { resolveSettings } from '../../src/plugins/settings.ts';
import { rpcCodes } from '../../src/protocol/jsonrpc.ts';
import { manifestFile, mcpProtocolVersion, protocolVersion, vppMethods } from '../../src/protocol/vpp.ts';

const root = path.join(import.meta.dirname, '../..');
const page = readFileSync(path.join(root, 'docs/reference/plugin-protocol.md'), 'utf8');
const guide = readFileSync(path.join(root, 'docs/guides/write-a-plugin.md'), 'utf8');

describe('the protocol page', () => {
  test.each(Object.values(vppMethods))('names the method %s', (method) => {
    expect(page).toContain(`\`${method}\``);
  });

  test.each(Object.values(rpcCodes))('explains the code %i', (code) => {
    expect(page).toContain(`| ${code} |`);
  });

  test.each(Object.keys(events).filter((type) => type.startsWith('plugin_')))('lists the event %s', (type) => {
    expect(page).toContain(`\`${type}\``);
  });

  test('gives the versions, the manifest and the figures of the code', () => {
    const settings = resolveSettings({}, () => ({ name: 'x', version: '1' }));
    const seconds = (ms: number): string => `${ms / 1_000} s`;

    for (const text of [
      `"protocol_version": "${protocolVersion}"`,
      `"protocolVersion": "${mcpProtocolVersion}"`,
      manifestFile,
      `any request but \`tools/call\` | ${seconds(settings.timeouts.default)} |`,
      `| \`tools/call\` | ${seconds(settings.timeouts.toolCall)} |`,
      `| ${seconds(settings.timeouts.listing)}, ${settings.maxPages} pages |`,
      `| ${seconds(settings.timeouts.shutdownGrace)} (\`timeouts.shutdownGrace\`)`,
      `| ${seconds(settings.timeouts.termGrace)} (\`timeouts.termGrace\`)`,
      `| ${settings.limits.maxLineBytes / 2 ** 20} MiB |`,
      `| ${settings.limits.maxQueuedBytes / 2 ** 20} MiB; one write ${seconds(settings.limits.stallMs)} |`,
      `wait | ${settings.limits.maxQueuedAnswers} |`,
      `| ${settings.limits.invalidLinesPerMinute} a minute |`,
      `| ${settings.limits.ignoredPerMinute} a minute |`,
      `| ${settings.stderr.burst} at once, then ${settings.stderr.perSecond} a second;`,
      `| ${settings.restart.max} until it stayed up for ${seconds(settings.restart.stableMs)};`,
    ]) {
      expect(page).toContain(text);
    }
  });
});

test.each([
  ['docs/reference/plugin-protocol.md', page],
  ['docs/guides/write-a-plugin.md', guide],
])('every link of %s leads to a file', (file, text) => {
  const links = [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map((match) => match[1] ?? '');

  expect(links.length).toBeGreaterThan(0);
  for (const link of links) expect(() => readFileOrFolder(path.join(root, path.dirname(file), link))).not.toThrow();
});

function readFileOrFolder(file: string): void {
  try {
    readFileSync(file);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EISDIR')) throw error;
  }
}
