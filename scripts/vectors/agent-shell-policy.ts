import { z } from 'zod';
import { checkCommand } from '../../src/tools/shell-policy.ts';
import type { Player } from './types.ts';

const row = z.strictObject({
  id: z.string(),
  command: z.string(),
  allow: z.boolean(),
  why: z.string().optional(),
  network: z.boolean().optional(),
  config: z
    .strictObject({
      blocked_commands: z.array(z.string()).optional(),
      allowed_commands: z.array(z.string()).optional(),
      command_timeout_secs: z.number().optional(),
      allow_network: z.boolean().optional(),
      extra_read_paths: z.array(z.string()).optional(),
    })
    .optional(),
});

const file = z.looseObject({ workspace_root: z.string(), cases: z.array(row) });

/** Plays group `shell_policy`: one command line each, allowed or denied. */
export const playShellPolicy: Player = ({ data }) => {
  const { workspace_root: root, cases } = file.parse(data);
  return cases.map(({ id, command, allow, network, config }) => ({
    id,
    weight: 'many',
    play: async () => {
      const verdict = checkCommand(command, { root, network: network ?? config?.allow_network ?? false, config });
      if (verdict.allow === allow) return [];
      return [
        `${JSON.stringify(command)}: expected ${allow ? 'allow' : 'deny'}, got ${verdict.allow ? 'allow' : verdict.sentence}`,
      ];
    },
  }));
};
