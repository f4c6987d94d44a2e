import type { Player, VectorCase, VectorFile } from './types.ts';

/** Players by agent group. */
const agentGroups = new Map<string, Player>([]);
/** Players by VPP kind. */
const vppKinds = new Map<string, Player>([]);

export function casesOf(file: VectorFile): readonly VectorCase[] {
  const isAgent = file.data['format'] === 'agent-vectors/1';
  const key = String(isAgent ? file.data['group'] : file.data['kind']);
  const player = (isAgent ? agentGroups : vppKinds).get(key);
  if (player === undefined) throw new Error(`unknown ${isAgent ? 'group' : 'kind'} \`${key}\``);
  return player(file);
}
