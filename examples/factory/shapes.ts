// What the built-in agents answer with, as the fenced `json` block of each prompt shows it.
import { z } from 'zod';

const severity = z.enum(['low', 'medium', 'high', 'critical']);

/** Of `complexity_assessor`. */
export const Assessment = z.object({
  complexity: z.enum(['trivial', 'simple', 'standard', 'complex']),
  confidence: z.number().min(0).max(1),
  reasoning: z.string(),
  needs_research: z.boolean(),
  needs_critique: z.boolean(),
  risk_level: z.enum(['low', 'medium', 'high']),
});
export type Assessment = z.infer<typeof Assessment>;

/** Of `spec_gatherer`: a specification that has no text yet. */
export const Requirements = z.object({
  summary: z.string(),
  requirements: z.array(
    z.object({
      id: z.string(),
      description: z.string(),
      kind: z.enum(['functional', 'non_functional', 'constraint']),
      priority: z.union([z.literal(1), z.literal(2), z.literal(3)]),
      acceptance: z.array(z.string()).min(1),
    }),
  ),
  context: z.object({
    relevant_files: z.array(z.string()),
    findings: z.array(z.string()),
    assumptions: z.array(z.string()),
  }),
});

/** Of `spec_writer`. */
export const Spec = Requirements.extend({ body: z.string() });
export type Spec = z.infer<typeof Spec>;

/** Of `spec_critic`: always with the complete specification, changed or not. */
export const Critique = z.object({
  verdict: z.enum(['ok', 'revised']),
  issues: z.array(z.object({ severity, title: z.string(), detail: z.string(), requirement: z.string().nullish() })),
  spec: Spec,
});

const Subtask = z.object({
  title: z.string(),
  description: z.string(),
  files: z.array(z.string()),
  depends_on: z.array(z.string()),
  verification: z.array(z.string()),
});
export type Subtask = z.infer<typeof Subtask>;

/** Of `planner`. */
export const Plan = z.object({
  approach: z.string(),
  phases: z.array(z.object({ name: z.string(), parallel: z.boolean(), subtasks: z.array(Subtask) })),
});
export type Plan = z.infer<typeof Plan>;

/** Of `coder` and `coder_recovery`. */
export const WorkReport = z.object({
  status: z.enum(['done', 'failed']),
  summary: z.string(),
  files_changed: z.array(z.string()),
  notes: z.string(),
});
export type WorkReport = z.infer<typeof WorkReport>;

/** Of `qa_reviewer`. */
export const Review = z.object({
  verdict: z.enum(['approved', 'changes_requested', 'inconclusive']),
  summary: z.string(),
  issues: z.array(
    z.object({
      severity,
      title: z.string(),
      detail: z.string(),
      requirement: z.string().nullish(),
      file: z.string().nullish(),
      line: z.number().nullish(),
      suggested_fix: z.string().nullish(),
    }),
  ),
});
export type Review = z.infer<typeof Review>;

/** Of `qa_fixer`. */
export const FixReport = z.object({
  status: z.enum(['done', 'failed']),
  summary: z.string(),
  fixed: z.array(z.string()),
});

/** An answer as the next agent reads it. */
export function toText(answer: unknown): string {
  return JSON.stringify(answer, undefined, 2);
}
