import type { UntrustedPart } from '../config/config.ts';
import { grantTrust, revokeTrust, type TrustCheck } from '../config/trust.ts';
import { EngineError } from '../protocol/error.ts';
import { toShownPath, userPaths } from '../store/paths.ts';
import { toPrintableLine } from '../telemetry/printable.ts';
import { type ExitCode, exitCodes, UsageError } from './failure.ts';
import type { CliIo } from './io.ts';
import type { CommonOptions } from './command.ts';
import type { TrustFlags } from './program.ts';
import { openProject, type Project } from './project.ts';

/** `vibe-bus trust`: shows what a project would start or decide, and remembers that the user allows exactly that. */
export async function trustCommand(io: CliIo, options: CommonOptions & TrustFlags): Promise<ExitCode> {
  if ([options.show, options.revoke, options.yes].filter((flag) => flag === true).length > 1) {
    throw new UsageError('use only one of --show, --revoke and --yes');
  }
  const project = await openProject(io, options);
  if (options.revoke === true) return await revoke(io, project, options);
  if (options.json === true) {
    if (options.show !== true && options.yes !== true) throw new UsageError('--json needs --show, --yes or --revoke');
    if (options.yes === true) await grant(project);
    const check = options.show === true ? project.trust : (await openProject(io, options)).trust;
    io.out(`${JSON.stringify({ root: project.root, ...check })}\n`);
    return exitCodes.ok;
  }

  io.out(describeTrust(project.trust));
  if (options.show === true || project.isTrusted) return exitCodes.ok;
  if (options.yes !== true) {
    if (!io.canAsk) throw new UsageError('there is no terminal to ask on; add --yes to trust this without a question');
    if (!isYes(await io.ask('Trust this project? [y/N] '))) {
      io.out('Nothing was changed.\n');
      return exitCodes.failed;
    }
  }
  await grant(project);
  const where = project.configDir === undefined ? '' : ` (${toShownPath(userPaths(project.configDir).trust, io.env)})`;
  io.out(`Trusted until one of these files changes${where}.\n`);
  return exitCodes.ok;
}

/**
 * Decides about a project for one engine: asks on a terminal, else leaves the untrusted parts out and says so, one line
 * each (contract README, decisions 13 and 21). Yes is remembered.
 * @throws EngineError `config`, code `untrusted`, when a part declared required would be left out
 */
export async function decideTrust(io: CliIo, project: Project): Promise<boolean> {
  if (project.isTrusted) return true;
  const { trust } = project;
  if (io.canAsk) {
    io.err(describeTrust(trust));
    if (isYes(await io.ask('Trust this project? [y/N] '))) {
      await grant(project);
      return true;
    }
  }
  const required = trust.parts.find((part) => part.required);
  if (required !== undefined) {
    throw new EngineError('config', `${required.name} is required by this project, which is not trusted yet`, {
      code: 'untrusted',
    });
  }
  for (const part of trust.parts) io.err(describeLeftOut(part));
  return false;
}

export function describeLeftOut(part: UntrustedPart): string {
  return `not trusted, left out: ${toPrintableLine(part.name)} (run \`vibe-bus trust\` to use it)\n`;
}

export function describeTrust(check: TrustCheck): string {
  if (check.state === 'not_needed') return 'This project starts nothing of its own; there is nothing to trust.\n';
  const head = {
    granted: 'This project is trusted. It brings:',
    changed: `This project was trusted, but changed since (${check.changed.map(toPrintableLine).join(', ')}). It brings:`,
    unknown: 'This project is not trusted yet. It brings:',
  }[check.state];
  return `${head}\n${check.parts.map((part) => `  ${toPrintableLine(part.name)}\n`).join('')}`;
}

async function grant(project: Project): Promise<void> {
  await grantTrust(project, project.trust, new Date());
}

async function revoke(io: CliIo, project: Project, options: CommonOptions): Promise<ExitCode> {
  const had = await revokeTrust(project);
  if (options.json === true) io.out(`${JSON.stringify({ root: project.root, revoked: had })}\n`);
  else io.out(had ? 'This project is no longer trusted.\n' : 'This project was not trusted.\n');
  return exitCodes.ok;
}

function isYes(answer: string): boolean {
  return /^(y|yes)$/i.test(answer.trim());
}
