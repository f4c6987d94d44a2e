import { pathToFileURL } from 'node:url';
import path from 'node:path';
import { z } from 'zod';
import { createEngine, type Engine } from '../../src/engine.ts';
import type { EngineOptions } from '../../src/engine/options.ts';
import type { ProviderKind } from '../../src/providers/provider.ts';
import { defineTool } from '../../src/tools/define.ts';
import { systemPrompt, toolName, toolText } from './task.ts';

/** What the benchmark calls of its fixture. */
export interface ThreadKinds {
  readonly busyKind: ProviderKind;
  readonly talkingKind: ProviderKind;
  readonly waitingKind: ProviderKind;
  toRecords(count: number): string;
  work(text: string): number;
}

/** @param folder the source folder of the benchmark */
export async function loadKinds(folder: string): Promise<ThreadKinds> {
  return (await import(pathToFileURL(path.join(folder, 'fixtures', 'thread-kinds.mjs')).href)) as ThreadKinds;
}

/** An engine whose model is of one kind. */
export async function openKindEngine(
  kind: ProviderKind,
  extra: { readonly [key: string]: string | number },
  options: EngineOptions,
): Promise<Engine> {
  const counter = defineTool({
    name: toolName,
    description: toolText,
    input: z.object({ from: z.number() }),
    execute: ({ from }) => Promise.resolve(`${from + 1}`),
  });
  return await createEngine({
    bare: true,
    model: 'bench/bench',
    providerKinds: { bench: kind },
    config: { providers: { bench: { extra } } },
    tools: [counter],
    agents: [{ role: 'counter', system_prompt: systemPrompt, tools: 'all' }],
    ...options,
  });
}
