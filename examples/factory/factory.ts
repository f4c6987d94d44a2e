import type { Engine, RunOptions, TaskInfo } from '../../src/index.ts';
import { build } from './build.ts';
import { createCrew, type Crew } from './crew.ts';
import { openScratch, scratch } from './git.ts';
import { reviewAndFix } from './review.ts';
import { Assessment, Critique, Plan, Requirements, type Review, Spec, toText, type WorkReport } from './shapes.ts';

/** What the factory made of a task; the work itself is in the commits. */
export interface Product {
  readonly spec: Spec;
  readonly plan: Plan;
  readonly reports: readonly WorkReport[];
  readonly review: Review;
}

/**
 * A small software factory: a task goes in, reviewed commits come out. Each station is one built-in agent, and what it
 * answers is what the next one is given.
 * @param options of every run, such as a signal or a budget
 * @throws EngineError when a station has no answer; Error when the repository is not clean
 */
export async function manufacture(engine: Engine, task: TaskInfo, options: RunOptions = {}): Promise<Product> {
  await openScratch(engine.root);
  const crew = createCrew(engine, task, options);
  const spec = await specify(crew, await assess(crew));
  const plan = await makePlan(crew, spec);
  const reports = await build(crew, spec, plan);
  const review = await reviewAndFix(crew, spec, plan, reports);
  return { spec, plan, reports, review };
}

async function assess(crew: Crew): Promise<Assessment> {
  crew.note('phase_started', { phase: 'assess' });
  return await crew.ask('complexity_assessor', 'Rate the task.', Assessment);
}

/** Research and critique cost time, so the assessment decides about them. */
async function specify(crew: Crew, assessment: Assessment): Promise<Spec> {
  crew.note('phase_started', { phase: 'specify' });
  const rating = { prior_context: assessment.reasoning };
  const requirements = await crew.ask('spec_gatherer', 'Collect the requirements.', Requirements, { vars: rating });
  const research = assessment.needs_research
    ? await crew.askText('spec_researcher', 'Check the facts.', { vars: rating })
    : '';
  const spec = await crew.ask('spec_writer', 'Write the specification.', Spec, {
    vars: { spec_path: `${scratch}/spec.md`, prior_context: `${toText(requirements)}\n\n${research}` },
  });
  if (!assessment.needs_critique) return spec;
  const critique = await crew.ask('spec_critic', 'Criticise the specification.', Critique, {
    vars: { spec: toText(spec), prior_context: research },
  });
  return critique.spec;
}

async function makePlan(crew: Crew, spec: Spec): Promise<Plan> {
  crew.note('phase_started', { phase: 'plan' });
  return await crew.ask('planner', 'Plan the work.', Plan, { vars: { spec: toText(spec) } });
}
