import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type AgentOutcome, extractJson, type RunOptions } from '../../src/index.ts';
import type { Crew } from './crew.ts';
import { type Bench, finishMerge, git, openBench, stageAll, startMerge } from './git.ts';
import { type Plan, type Spec, type Subtask, toText, WorkReport } from './shapes.ts';

/** Carries out a plan: phase after phase, the subtasks of a parallel phase side by side. @returns a report for each */
export async function build(crew: Crew, spec: Spec, plan: Plan): Promise<readonly WorkReport[]> {
  crew.note('phase_started', { phase: 'build' });
  const reports: WorkReport[] = [];
  for (const { parallel, subtasks } of plan.phases) {
    const waves = parallel ? [subtasks] : subtasks.map((subtask) => [subtask]);
    for (const wave of waves) {
      const vars = { spec: toText(spec), plan: toText(plan), progress: toText(reports) };
      reports.push(...(await carryOut(crew, wave, vars)));
    }
  }
  return reports;
}

/** One bench for each subtask, so that none sees the half-done work of another; merged in the order of the plan. */
async function carryOut(crew: Crew, wave: readonly Subtask[], vars: Vars): Promise<readonly WorkReport[]> {
  const { root } = crew.engine;
  const benches: Bench[] = [];
  const jobs: Job[] = [];
  try {
    for (const subtask of wave) {
      const bench = await openBench(root, `factory/${toSlug(subtask.title)}`);
      benches.push(bench);
      jobs.push(toJob(subtask, bench.root, vars));
    }
    // agents wait for models most of the time, but what they parse and check in between can use every core
    const outcomes = await crew.engine.map('coder', jobs, { ...crew.shared, placement: 'thread', concurrency: 4 });
    const reports = await Promise.all(jobs.map((job, index) => finish(crew, job, readReport(outcomes[index]))));
    for (const bench of benches) await integrate(crew, bench, vars);
    return reports;
  } finally {
    for (const bench of benches) await bench[Symbol.asyncDispose]();
  }
}

/** The titles of a plan are unique, so its branches are. */
function toSlug(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

type Vars = NonNullable<RunOptions['vars']>;

interface Job {
  readonly title: string;
  readonly message: string;
  readonly options: RunOptions & { readonly root: string; readonly vars: Vars };
}

function toJob(subtask: Subtask, root: string, vars: Vars): Job {
  const { title } = subtask;
  const options = { root, subtask: title, vars: { ...vars, subtask: toText(subtask) } };
  return { title, message: `Carry out: ${title}`, options };
}

/** Coders are asked for JSON but not held to it: an answer that cannot be read is a failed attempt. */
function readReport(outcome: AgentOutcome | undefined): WorkReport {
  const text = outcome?.final_text ?? '';
  const read = WorkReport.safeParse(extractJson(text));
  if (outcome?.stop.reason === 'completed' && read.success) return read.data;
  return { status: 'failed', summary: `${toText(outcome?.stop)}\n${text}`, files_changed: [], notes: '' };
}

/** A failed attempt gets a second one by an agent that looks for its cause. Whatever is there is committed. */
async function finish(crew: Crew, { title, options }: Job, attempt: WorkReport): Promise<WorkReport> {
  let report = attempt;
  if (attempt.status === 'failed') {
    crew.note('subtask_updated', { title, status: 'failed', summary: attempt.summary });
    const vars = { ...options.vars, prior_context: toText(attempt) };
    report = await crew.ask('coder_recovery', `Take over: ${title}`, WorkReport, { ...options, vars });
  }
  crew.note('subtask_updated', { title, status: report.status, summary: report.summary });
  await commit(crew, options.root, title);
  return report;
}

/** Commits what changed in a folder, under a message of its own. */
export async function commit(crew: Crew, root: string, title: string): Promise<void> {
  const diff = await stageAll(root);
  if (diff === '') return;
  const message = await crew.askText('commit_message', `Describe: ${title}`, { vars: { diff, subtask: title } });
  await git(root, 'commit', '--quiet', '--message', message);
  crew.note('committed', { title, message });
}

async function integrate(crew: Crew, { branch }: Bench, { spec = '' }: Vars): Promise<void> {
  const { root } = crew.engine;
  const conflicts = await startMerge(root, branch);
  for (const file of conflicts) {
    const conflict = await readFile(path.join(root, file), 'utf8');
    const vars = { file_path: file, conflict, spec };
    const answer = await crew.askText('merge_resolver', `Resolve: ${file}`, { vars });
    await writeFile(path.join(root, file), readFence(answer));
  }
  if (conflicts.length > 0) await finishMerge(root);
  crew.note('subtask_integrated', { branch, conflicts: conflicts.length });
}

/** The resolved file: the fenced block the answer begins with. @throws Error when there is none */
function readFence(answer: string): string {
  const [, , file] = /^(`{3,})[^\n]*\n([^]*?\n)\1[ \t]*$/m.exec(answer.trimStart()) ?? [];
  if (file === undefined) throw new Error(`\`merge_resolver\` gave no file: ${answer}`);
  return file;
}
