import { messageOf } from '../protocol/error.ts';
import { toPrintableLine } from '../telemetry/printable.ts';
import type { ApprovalDecision, ApprovalRequest, Approver } from '../tools/approvals.ts';
import { parseRule } from '../tools/rule-pattern.ts';
import type { CliIo } from './io.ts';

/**
 * Asks the user on the terminal, one call after the other: yes, no, no with a reason the model reads, or always, for this
 * very call or for a rule that is typed.
 */
export function createApprovalPrompt(io: Pick<CliIo, 'ask' | 'err'>): Exclude<Approver, 'bus'> {
  // calls that run side by side ask at the same time, and a terminal has one line
  let before: Promise<unknown> = Promise.resolve();
  return async (request, signal) => {
    const turn = before.then(() => askOne(io, request, signal));
    before = turn.catch(() => {});
    return await turn;
  };
}

async function askOne(
  io: Pick<CliIo, 'ask' | 'err'>,
  request: ApprovalRequest,
  signal: AbortSignal,
): Promise<ApprovalDecision> {
  signal.throwIfAborted(); // answered elsewhere, or the run ended, while another question was asked
  io.err(`\n${toPrintableLine(`${request.tool} ${JSON.stringify(request.input)}`)}\n`);
  for (;;) {
    const answer = (await io.ask('Allow this call? [y/N, a = always in this run, or why not] ', signal)).trim();
    signal.throwIfAborted();
    const decision = toDecision(answer);
    if (typeof decision !== 'string') {
      if (decision.always !== undefined) io.err(describeAlways(decision.always, request));
      return decision;
    }
    io.err(`${toPrintableLine(decision)}\n`);
  }
}

/** The decision, or what is wrong with the answer. */
function toDecision(answer: string): ApprovalDecision | string {
  if (/^y(?:es)?$/i.test(answer)) return { approved: true };
  if (answer === '' || /^no?$/i.test(answer)) return { approved: false, comment: 'refused by the user' };
  const always = /^a(?:lways)?(?:\s+(?<rule>\S.*))?$/is.exec(answer);
  if (always === null) return { approved: false, comment: answer.replace(/^no?[,:]?\s+/i, '') };
  const rule = always.groups?.['rule'];
  if (rule === undefined) return { approved: true, always: true };
  try {
    parseRule(rule);
  } catch (error) {
    return messageOf(error);
  }
  return { approved: true, always: rule };
}

function describeAlways(always: boolean | string, request: ApprovalRequest): string {
  const rule = typeof always === 'string' ? always : request.rule;
  return `${toPrintableLine(`From now on in this run: ${rule} (to keep it, add it to \`allow\` in [rules])`)}\n`;
}
