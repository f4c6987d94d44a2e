import { type AgentSpec, builtinRoles, defineAgent } from '../protocol/agent.ts';
import { readPromptFile } from './prompt.ts';

type BuiltinRole = (typeof builtinRoles)[number];
/** A built-in agent without its prompt: enough for a listing. */
export type BuiltinAgent = Omit<AgentSpec, 'system_prompt'>;

/** The twelve built-in agents in listing order, prompts read from their files at each call. */
export function loadBuiltinAgents(): readonly AgentSpec[] {
  return builtinAgents.map(loadPrompt);
}

/** One built-in agent; nothing for any other role. */
export function loadBuiltinAgent(role: string): AgentSpec | undefined {
  const agent = builtinAgents.find((entry) => entry.role === role);
  return agent === undefined ? undefined : loadPrompt(agent);
}

function loadPrompt(agent: BuiltinAgent): AgentSpec {
  return { ...agent, system_prompt: readPromptFile(agent.role) };
}

type Settings = Pick<AgentSpec, 'description'> & Partial<AgentSpec>;

/** Source of the values: agent-runtime section 12. Model: always the phase's. */
const settings: { readonly [role in BuiltinRole]: Settings } = {
  complexity_assessor: {
    description: 'Rates how complex and risky a task is and which preparation it needs',
    tools: 'read_only',
    thinking: 'low',
    structured_output: true,
    max_steps: 30,
  },
  spec_gatherer: {
    description: 'Collects the requirements of a task and the code they touch',
    tools: 'read_only',
    structured_output: true,
    max_steps: 100,
    max_tokens: 16_384,
  },
  spec_researcher: {
    description: 'Checks the facts a specification will rest on: dependencies, interfaces, risks',
    tools: 'read_only',
    max_steps: 100,
    max_tokens: 16_384,
  },
  spec_writer: {
    description: 'Writes the specification of a task as a document and as data',
    tools: 'read_write',
    thinking: 'high',
    structured_output: true,
    max_steps: 100,
    max_tokens: 32_000,
  },
  spec_critic: {
    description: 'Looks for gaps and contradictions in a specification and corrects them',
    tools: 'read_only',
    thinking: 'high',
    structured_output: true,
    max_steps: 60,
    max_tokens: 32_000,
  },
  planner: {
    description: 'Splits a specification into phases and subtasks that can be checked one by one',
    tools: 'read_only',
    thinking: 'high',
    structured_output: true,
    max_steps: 100,
    max_tokens: 32_000,
  },
  coder: {
    description: 'Implements one subtask or a whole small task, and checks it',
    thinking: 'low',
    max_steps: 300,
    max_tokens: 16_384,
  },
  coder_recovery: {
    description: 'Takes over a subtask that failed, finds the cause and finishes it another way',
    max_steps: 300,
    max_tokens: 16_384,
  },
  qa_reviewer: {
    description: 'Checks finished work against its specification, by running it',
    thinking: 'high',
    structured_output: true,
    max_tokens: 32_000,
  },
  qa_fixer: {
    description: 'Fixes the issues of a review report, and nothing else',
    max_tokens: 16_384,
  },
  merge_resolver: {
    description: 'Resolves the merge conflicts of one file',
    tools: 'none',
    thinking: 'low',
    max_steps: 3,
    max_tokens: 32_000,
  },
  commit_message: {
    description: 'Writes the commit message of a change',
    tools: 'none',
    thinking: 'low',
    max_steps: 2,
    max_tokens: 4_096,
  },
};

/** The built-in agents in listing order, without prompts. */
export const builtinAgents: readonly BuiltinAgent[] = builtinRoles.map((role) => {
  const { system_prompt: _, ...agent } = defineAgent({ role, system_prompt: '', ...settings[role] });
  return agent;
});
