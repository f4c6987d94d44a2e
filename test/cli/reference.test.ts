import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { commandTable } from './in-process.ts';

const page = readFileSync(new URL('../../docs/reference/cli.md', import.meta.url), 'utf8');
const everywhere = new Set(['--root', '--json', '--help']);

test.each(commandTable().map((command) => [command.name(), command] as const))(
  'the page documents vibe-bus %s with its commands and options',
  (name, command) => {
    const section = page.split(/^## /m).find((text) => text.startsWith(`\`vibe-bus ${name}`)) ?? '';
    const inner = command.commands.map((entry) => `${name} ${entry.name()}`);
    const options = [command, ...command.commands]
      .flatMap((entry) => entry.options.map((option) => option.long ?? ''))
      .filter((option) => !everywhere.has(option));

    expect(section).not.toBe('');
    expect([...inner, ...options].filter((text) => !section.includes(text))).toEqual([]);
  },
);
