import { commit } from './build.ts';
import type { Crew } from './crew.ts';
import { FixReport, type Plan, Review, type Spec, toText, type WorkReport } from './shapes.ts';

const maxRounds = 3;

/** Reviews the work and has its issues fixed, until it is approved or nobody can do more. @returns the last review */
export async function reviewAndFix(
  crew: Crew,
  spec: Spec,
  plan: Plan,
  reports: readonly WorkReport[],
): Promise<Review> {
  const vars = { spec: toText(spec), plan: toText(plan), progress: toText(reports) };
  for (let round = 1; ; round += 1) {
    crew.note('phase_started', { phase: `review, round ${round}` });
    const review = await crew.ask('qa_reviewer', `Review the work, round ${round}.`, Review, { vars });
    crew.note('validation_finished', { round, verdict: review.verdict, issues: review.issues.length });
    if (review.verdict !== 'changes_requested' || round === maxRounds) return review;
    await crew.ask('qa_fixer', `Fix the issues of round ${round}.`, FixReport, {
      vars: { qa_report: toText(review), spec: vars.spec },
    });
    await commit(crew, crew.engine.root, `Fix the issues of round ${round}`);
  }
}
