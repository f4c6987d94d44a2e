import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** What the benchmark calls of pi-agent-core and pi-ai; the rest of their types stays theirs. */
export interface Pi {
  runAgentLoop(
    prompts: readonly object[],
    context: object,
    config: object,
    emit: (event: { readonly type: string }) => void,
    signal: AbortSignal | undefined,
    streamFn: (model: object, context: { readonly messages: readonly object[] }) => object,
  ): Promise<readonly object[]>;
  createAssistantMessageEventStream(): { push(event: object): void };
  readonly Type: { Object(fields: object): object; Number(): object };
}

/** What the benchmark calls of the Vercel AI SDK. */
export interface AiSdk {
  generateText(options: object): Promise<{ readonly steps: readonly object[] }>;
  tool(definition: object): object;
}

/** What the benchmark calls of fdir. */
export type Fdir = new () => FdirBuilder;

interface FdirBuilder {
  withRelativePaths(): FdirBuilder;
  glob(...patterns: readonly string[]): FdirBuilder;
  globWithOptions(patterns: readonly string[], options: object): FdirBuilder;
  exclude(isExcluded: (name: string) => boolean): FdirBuilder;
  crawl(root: string): { sync(): readonly string[]; withPromise(): Promise<readonly string[]> };
}

/** fdir, which matches globs by picomatch. @throws Error when the peers cannot be installed */
export async function loadFdir(folder: string): Promise<Fdir> {
  const peers = await loadPeers(folder);
  const module = await peers.loadFdir();
  if (!hasAll<{ readonly fdir: Fdir }>(module, ['fdir'])) throw new Error('the installed `fdir` has another interface');
  return module.fdir;
}

/** What the benchmark calls of the OpenAI Agents SDK. */
export interface OpenaiAgents {
  readonly Agent: new (options: object) => object;
  readonly Usage: new (usage: object) => object;
  run(agent: object, input: string, options: object): Promise<{ readonly rawResponses: readonly object[] }>;
  tool(definition: object): object;
  setTracingDisabled(isDisabled: boolean): void;
}

/** What the benchmark calls of LangGraph and LangChain. */
export interface LangGraph {
  createReactAgent(options: object): {
    invoke(state: object, options: object): Promise<{ readonly messages: readonly object[] }>;
  };
  readonly BaseChatModel: abstract new (options: object) => object;
  readonly AIMessage: new (fields: object) => object;
  tool(run: (input: { readonly from: number }) => Promise<string>, fields: object): object;
}

/** @throws Error when the peers cannot be installed or lack what is called here */
export async function loadPi(folder: string): Promise<Pi> {
  const peers = await loadPeers(folder);
  const merged = { ...(await peers.loadPi()), ...(await peers.loadPiAi()) };
  if (!hasAll<Pi>(merged, ['runAgentLoop', 'createAssistantMessageEventStream', 'Type'])) {
    throw new Error('the installed pi-agent-core has another interface');
  }
  return merged;
}

/** @throws Error when the peers cannot be installed or lack what is called here */
export async function loadAiSdk(folder: string): Promise<AiSdk> {
  const peers = await loadPeers(folder);
  const module = await peers.loadAiSdk();
  if (!hasAll<AiSdk>(module, ['generateText', 'tool'])) throw new Error('the installed `ai` has another interface');
  return module;
}

/** @throws Error when the peers cannot be installed or lack what is called here */
export async function loadOpenaiAgents(folder: string): Promise<OpenaiAgents> {
  const peers = await loadPeers(folder);
  const module = await peers.loadOpenaiAgents();
  if (!hasAll<OpenaiAgents>(module, ['Agent', 'Usage', 'run', 'tool', 'setTracingDisabled'])) {
    throw new Error('the installed `@openai/agents-core` has another interface');
  }
  return module;
}

/** @throws Error when the peers cannot be installed or lack what is called here */
export async function loadLangGraph(folder: string): Promise<LangGraph> {
  const peers = await loadPeers(folder);
  const merged = {
    ...(await peers.loadLangGraph()),
    ...(await peers.loadLangChainModels()),
    ...(await peers.loadLangChainMessages()),
    ...(await peers.loadLangChainTools()),
  };
  if (!hasAll<LangGraph>(merged, ['createReactAgent', 'BaseChatModel', 'AIMessage', 'tool'])) {
    throw new Error('the installed `@langchain/langgraph` has another interface');
  }
  return merged;
}

interface Loaders {
  loadPi(): Promise<object>;
  loadPiAi(): Promise<object>;
  loadAiSdk(): Promise<object>;
  loadFdir(): Promise<object>;
  loadOpenaiAgents(): Promise<object>;
  loadLangGraph(): Promise<object>;
  loadLangChainModels(): Promise<object>;
  loadLangChainMessages(): Promise<object>;
  loadLangChainTools(): Promise<object>;
}

const loaderNames = [
  'loadPi',
  'loadPiAi',
  'loadAiSdk',
  'loadFdir',
  'loadOpenaiAgents',
  'loadLangGraph',
  'loadLangChainModels',
  'loadLangChainMessages',
  'loadLangChainTools',
] as const;

/** @param folder the source folder of the benchmark: the peers live in it, beside their lock file */
async function loadPeers(folder: string): Promise<Loaders> {
  if (!areInstalled(folder)) install(folder);
  const module: unknown = await import(pathToFileURL(path.join(folder, 'peers.mjs')).href);
  if (!hasAll<Loaders>(module, loaderNames)) throw new Error('bench/peers.mjs lacks a loader');
  return module;
}

/** Whether what is installed are the pinned versions. */
function areInstalled(folder: string): boolean {
  const pinned = (readJson(path.join(folder, 'package.json')) as { readonly dependencies: Record<string, string> })
    .dependencies;
  return Object.entries(pinned).every(([name, version]) => {
    const manifest = path.join(folder, 'node_modules', name, 'package.json');
    return existsSync(manifest) && (readJson(manifest) as { readonly version: string }).version === version;
  });
}

function install(folder: string): void {
  process.stderr.write('installing the peers of the benchmark …\n');
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) throw new Error('the peers could not be installed: run `npm ci --ignore-scripts` in bench/');
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function hasAll<T extends object>(module: unknown, names: readonly (keyof T & string)[]): module is T {
  return typeof module === 'object' && module !== null && names.every((name) => name in module);
}
