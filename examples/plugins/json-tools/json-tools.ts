// A plugin on the author kit: zod-typed tools, paths kept inside the workspace, progress and logs.
// In a project of your own the first import reads: import { createPlugin } from 'vibe-bus/plugin';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { createPlugin, type PluginCall } from '../../../src/plugins/server.ts';

const file = z.string().describe('JSON file, relative to the workspace');

const plugin = createPlugin({ name: 'json-tools', version: '1.0.0' })
  .tool({
    name: 'json_outline',
    description: 'Show the shape of a JSON file: keys, types and array lengths, without the values.',
    input: z.object({ file, depth: z.int().min(1).max(8).default(3) }),
    mutating: false,
    async execute({ file, depth }, call) {
      return outline(await readJson(file, call), depth, '').join('\n');
    },
  })
  .tool({
    name: 'json_pick',
    description: 'Read one value of a JSON file by its pointer, such as /scripts/test or /items/0/id.',
    input: z.object({ file, pointer: z.string().regex(/^(\/.*)?$/) }),
    mutating: false,
    async execute({ file, pointer }, call) {
      return JSON.stringify(pick(await readJson(file, call), pointer), null, 2);
    },
  })
  .agent({
    role: 'config_reader',
    description: 'Answers questions about configuration files.',
    system_prompt:
      'Answer questions about JSON configuration. Look at json_outline first, then json_pick what matters.',
    tools: { named: ['json_outline', 'json_pick', 'glob'] },
    thinking: 'off',
  });

async function readJson(file: string, call: PluginCall): Promise<unknown> {
  const path = await call.resolvePath(file);
  const text = await readFile(path, { encoding: 'utf8', signal: call.signal });
  call.progress({ progress: 1, total: 2, message: `read ${text.length} characters` });
  return JSON.parse(text);
}

function pick(value: unknown, pointer: string): unknown {
  let current = value;
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) {
      throw new Error(`there is nothing at \`${pointer}\`: no \`${key}\``);
    }
    current = Reflect.get(current, key);
  }
  return current;
}

function outline(value: unknown, depth: number, indent: string): readonly string[] {
  if (Array.isArray(value)) {
    const items = value.length === 0 || depth === 1 ? [] : outline(value[0], depth - 1, `${indent}  `);
    return [`${indent}array of ${value.length}`, ...items];
  }
  if (typeof value !== 'object' || value === null) return [`${indent}${value === null ? 'null' : typeof value}`];
  return Object.entries(value).flatMap(([key, item]) => {
    const isOpen = typeof item === 'object' && item !== null && depth > 1;
    const kind = Array.isArray(item) ? `array of ${item.length}` : item === null ? 'null' : typeof item;
    const inner = Array.isArray(item) ? item.slice(0, 1) : [item];
    return [
      `${indent}${key}: ${kind}`,
      ...(isOpen ? inner.flatMap((part) => outline(part, depth - 1, `${indent}  `)) : []),
    ];
  });
}

await plugin.serve();
