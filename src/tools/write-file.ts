import { errorOutput, okOutput, type ToolContext, type ToolOutput } from '../protocol/tool.ts';
import { codeOf, openScope } from './containment.ts';
import { type NoTarget, openWriteTarget, type WriteRules } from './write-target.ts';

export interface WriteFileInput {
  readonly path: string;
  readonly content: string;
}

/** Writes a whole file, making the directories above it (agent-runtime 16). */
export async function writeFile(
  input: WriteFileInput,
  context: ToolContext,
  rules: Omit<WriteRules, 'createParents'>,
): Promise<ToolOutput> {
  const target = await openWriteTarget(input.path, openScope(context), { ...rules, createParents: true });
  if (!target.ok) return explain(target);
  await using place = target;
  const { shown, stats } = place;
  if (stats?.isDirectory() === true) return isDirectory(shown);
  if (stats !== undefined && !stats.isFile()) {
    return errorOutput(`\`${shown}\` is not a regular file and cannot be written.`);
  }
  const content = Buffer.from(input.content.toWellFormed());
  try {
    await place.replace(content, context.signal);
  } catch (error) {
    if (codeOf(error) === 'EUNKNOWN') throw error;
    return errorOutput(`\`${shown}\` cannot be written (${codeOf(error)}).`);
  }
  const created = stats === undefined;
  return okOutput(`${created ? 'Created' : 'Overwrote'} \`${shown}\` (${content.length} bytes).`, {
    path: shown,
    bytes: content.length,
    created,
  });
}

function explain(problem: NoTarget): ToolOutput {
  switch (problem.reason) {
    case 'refused':
      return problem.output ?? errorOutput('Access denied.');
    case 'directory':
      return isDirectory(problem.shown);
    case 'not_directory':
      return errorOutput(`\`${problem.shown}\` cannot be written: \`${problem.detail}\` is not a directory.`);
    case 'missing':
    case 'failed':
      return errorOutput(`\`${problem.shown}\` cannot be written (${problem.detail ?? 'ENOENT'}).`);
  }
}

function isDirectory(shown: string): ToolOutput {
  return errorOutput(`\`${shown}\` is a directory and cannot be written as a file.`);
}
