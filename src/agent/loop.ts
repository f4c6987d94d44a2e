import type { BusEvent } from '../bus/events.ts';
import type { AgentOutcome } from '../protocol/agent.ts';
import { type Message, toolUsesOf } from '../protocol/message.ts';
import { executeCalls } from './batches.ts';
import type { AgentPorts, RunControl, RunSettings } from './ports.ts';
import { openSession } from './session.ts';
import {
  afterEstimate,
  beforeEstimate,
  convergeStep,
  convergeText,
  nudgeText,
  truncatedTwiceText,
  warningText,
} from './step-policy.ts';

/**
 * One session of an agent: from its first message to its stop. Everything that happens inside the conversation is part of
 * the outcome.
 * @throws EngineError `plugin` when an `augment_prompt` hook fails, before any event
 */
export async function runAgent(
  settings: RunSettings,
  messages: readonly Message[],
  control: RunControl,
  ports: AgentPorts,
): Promise<AgentOutcome> {
  const session = await openSession(settings, messages, control, ports);
  publishStarted(settings, ports);
  // why: what an observer of the start tells the run must reach it before the run can end
  await Promise.resolve();
  // The loop of agent-runtime section 3; the numbers are its step numbers. It stands here and not in a function of its own,
  // because each async function that waits holds a frame, and thousands of sessions may wait. So what a step needs only
  // before or after a wait is no variable here: the frame would hold it through the next wait.
  const { transcript } = session;
  const convergeAt = convergeStep(settings.spec);
  let isConverged = false;
  let isWarned = false;

  for (;;) {
    if (session.isStopped()) return session.end(session.cancelled()); // 1
    session.joinSteering();
    session.joinTools();
    const state = { steps: session.steps, maxSteps: settings.spec.max_steps, convergeAt, isConverged, isWarned };
    const verdict = beforeEstimate(state);
    if (verdict === 'max_steps') return session.end({ reason: 'max_steps' }); // 2
    if (verdict === 'converge') {
      transcript.inject(convergeText); // 3
      isConverged = true;
    }
    if (settings.compaction !== undefined) await session.compact(settings.compaction);
    const room = afterEstimate(session.estimate(), settings.contextWindow, isWarned);
    if (room === 'context_window') return session.end({ reason: 'context_window' }); // 4
    if (room === 'warn') {
      transcript.inject(warningText); // 5
      isWarned = true;
    }

    let answer: Message;
    try {
      answer = session.accept(await session.complete()); // 6 to 9
    } catch (error) {
      return session.end(session.toStop(error));
    }

    const calls = toolUsesOf(answer);
    if (calls.length > 0) {
      session.cutFrom = undefined; // 10
      session.toolCalls += calls.length;
      const turn = session.takeTurn();
      if (turn !== undefined) await turn;
      session.acceptAnswers(calls, await executeCalls(calls, session));
      if (session.handoff !== undefined) return session.end({ reason: 'completed' });
    } else if (session.isCut) {
      if (session.cutFrom !== undefined)
        return session.end({ reason: 'error', kind: 'other', message: truncatedTwiceText }); // 11
      session.cutFrom = answer;
      transcript.push({ role: 'user', content: [{ type: 'text', text: nudgeText }] });
    } else if (!session.joinSteering()) {
      const late = session.awaitSteering();
      if (late === undefined) return session.end({ reason: 'completed' }); // 12
      await late;
    }
  }
}

function publishStarted(settings: RunSettings, ports: AgentPorts): void {
  const { run, spec, subtask, shownModel, parent } = settings;
  const started: BusEvent<'agent_started'> = {
    type: 'agent_started',
    run,
    role: spec.role,
    subtask,
    model: shownModel,
  };
  ports.publish(parent === undefined ? started : ({ ...started, parent } as BusEvent<'agent_started'>));
}
