import { playBuiltinTools } from './agent-builtin-tools.ts';
import { playEvents } from './agent-event-tables.ts';
import { playProviders } from './agent-providers.ts';
import { playRuns } from './agent-run.ts';
import { playShellPolicy } from './agent-shell-policy.ts';
import { playBuiltinAgents, playOverrides } from './agent-specs.ts';
import { playExtraction, playPrompts, playTranscripts, playUnits } from './agent-tables.ts';
import type { Player, VectorCase, VectorFile } from './types.ts';
import { playDiscovery, playManifest, playParse, playResolve } from './vpp-data.ts';
import { playHost } from './vpp-host.ts';
import { playServer } from './vpp-server.ts';

/** Players by agent group. */
const runGroups = [
  'loop',
  'tools',
  'hooks',
  'retries',
  'cancellation',
  'resume',
  'spec',
  'structured',
  'continuation',
  'extensions',
];
const agentGroups = new Map<string, Player>([
  ...runGroups.map((group): [string, Player] => [group, playRuns]),
  ['events', playEvents],
  ['extraction', playExtraction],
  ['prompts', playPrompts],
  ['transcripts', playTranscripts],
  ['units', playUnits],
  ['overrides', playOverrides],
  ['builtin_agents', playBuiltinAgents],
  ['providers', playProviders],
  ['builtin_tools', playBuiltinTools],
  ['shell_policy', playShellPolicy],
]);
/** Players by VPP kind. */
const vppKinds = new Map<string, Player>([
  ['host', playHost],
  ['server', playServer],
  ['parse', playParse],
  ['manifest', playManifest],
  ['discovery', playDiscovery],
  ['resolve', playResolve],
]);

export function casesOf(file: VectorFile): readonly VectorCase[] {
  const isAgent = file.data['format'] === 'agent-vectors/1';
  const key = isAgent ? file.data['group'] : file.data['kind'];
  const player = typeof key === 'string' ? (isAgent ? agentGroups : vppKinds).get(key) : undefined;
  if (player === undefined) throw new Error(`unknown ${isAgent ? 'group' : 'kind'} ${JSON.stringify(key)}`);
  return player(file);
}
