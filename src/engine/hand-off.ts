import type { Handoff } from '../protocol/agent.ts';
import { okOutput, type Tool } from '../protocol/tool.ts';
import type { AgentRegistry } from './agents.ts';

export const handOffName = 'hand_off';

/** The tool with which an agent hands its conversation to another: its run completes, and the caller acts on the outcome. */
export function createHandOffTool(
  roles: readonly string[],
  agents: AgentRegistry,
  onHandoff: (handoff: Handoff) => void,
): Tool {
  const list = roles.map((role) => {
    const about = agents.get(role)?.description ?? '';
    return about === '' ? `\`${role}\`` : `\`${role}\` (${about})`;
  });
  return {
    name: handOffName,
    description:
      'Hands the conversation to another agent and ends your part of it. Use it when the rest is its work, as your last ' +
      `call. Agents: ${list.join('; ')}.`,
    input_schema: {
      type: 'object',
      properties: {
        role: { type: 'string', enum: [...roles] },
        message: { type: 'string', description: 'What the next agent has to know and to do.' },
      },
      required: ['role', 'message'],
      additionalProperties: false,
    },
    is_mutating: true,
    validate({ role, message, ...rest }) {
      const [unknown] = Object.keys(rest);
      if (unknown !== undefined) return { ok: false, detail: `${unknown}: unknown key` };
      if (typeof role !== 'string' || !roles.includes(role)) {
        return { ok: false, detail: `role: expected one of ${roles.map((name) => `\`${name}\``).join(', ')}` };
      }
      if (typeof message !== 'string') return { ok: false, detail: 'message: expected a text' };
      return { ok: true, value: { role, message } };
    },
    call(input) {
      const { role, message } = input as { readonly role: string; readonly message: string };
      onHandoff({ role, message });
      return okOutput(`Handed off to \`${role}\`.`);
    },
  };
}
