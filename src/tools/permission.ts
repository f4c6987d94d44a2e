import { errorOutput, type Permissions, type ToolOutput } from '../protocol/tool.ts';

/** What a tool does to the machine; `edit` is a write with its own text. */
export type PermissionNeed = 'read' | 'write' | 'edit' | 'execute' | 'network';

const deeds: Record<PermissionNeed, string> = {
  read: 'read files',
  write: 'write files',
  edit: 'edit files',
  execute: 'execute commands',
  network: 'reach the network',
};

/** The refusal of a call its agent has no permission for (agent-runtime 16), or nothing. */
export function refusePermission(need: PermissionNeed, permissions: Permissions): ToolOutput | undefined {
  if (permissions[need === 'edit' ? 'write' : need]) return undefined;
  return errorOutput(`Permission denied: this agent is not allowed to ${deeds[need]}.`);
}
