import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { SecurityConfig } from '../config/schema.ts';
import type { Logger } from '../protocol/deps.ts';
import { EngineError } from '../protocol/error.ts';
import type { BashSettings } from '../tools/bash.ts';
import { codeOf } from '../tools/containment.ts';
import { toConfinedLine } from '../transport/sandbox.ts';
import type { SandboxProbe } from '../transport/sandbox-probe.ts';
import { toCommandProfile } from '../transport/sandbox-profile.ts';

/**
 * Confines the commands of `bash` as `security.sandbox` asks: `on` runs nothing unconfined, `auto` confines where the system
 * can and says once where it cannot, `off` (default) leaves commands to the shell policy alone.
 */
export function createConfinement(
  security: SecurityConfig,
  deps: { readonly probe: SandboxProbe; readonly logger: Logger },
): Pick<BashSettings, 'confine'> {
  const mode = security.sandbox ?? 'off';
  if (mode === 'off') return {};
  let isReported = false;

  return {
    async confine(line, { root, cwd, network }) {
      await makeHooksFolder(root);
      const profile = toCommandProfile({
        workspace: root,
        cwd,
        home: homedir(),
        network,
        programs: [process.execPath],
        read: security.extra_read_paths ?? [],
      });
      const found = await deps.probe.check('command', profile);
      if (found.isAvailable) return toConfinedLine(found.backend, profile, line);
      const why = `commands cannot be confined here: ${found.detail}`;
      if (mode === 'on') {
        const message = `${why}; install bubblewrap, or set \`sandbox\` in [security] to "auto" or "off"`;
        throw new EngineError('denied', message, { code: 'sandbox_unavailable' });
      }
      if (!isReported) deps.logger.warn(why, { target: 'vibe::tools', problem: found.problem });
      isReported = true;
      return line;
    },
  };
}

/** Only a folder that is there can be kept from being written to. A workspace without `.git` has no hooks to keep. */
async function makeHooksFolder(root: string): Promise<void> {
  try {
    await mkdir(join(root, '.git/hooks'));
  } catch (error) {
    // why: it is there already, or `.git` is missing or a file that points elsewhere
    if (!['EEXIST', 'ENOENT', 'ENOTDIR'].includes(codeOf(error))) throw error;
  }
}
