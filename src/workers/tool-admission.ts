import { EngineError } from '../protocol/error.ts';
import type { ToolTask } from '../protocol/thread.ts';
import { createFairQueue, type FairQueue } from './fair-queue.ts';
import type { ToolJob } from './tool-job.ts';

export interface ToolAdmissionOptions {
  /** Calls that may wait; more are refused with code `overloaded`. Default 10 000. */
  readonly maxQueue?: number | undefined;
  /** Of these from one run, so that it cannot fill the queue for the others. Default: half of `maxQueue`. */
  readonly maxQueuePerRun?: number | undefined;
  /** Calls of one run on threads at once. Default: no limit but the threads. */
  readonly callsPerRun?: number | undefined;
}

/**
 * Decides which call begins next: runs take turns (reliability WK11), and neither a run nor a tool has more calls on threads
 * at once than it may. Calls that wait for their tool hold up no others.
 */
export interface ToolAdmission {
  /** All calls that wait. */
  readonly waiting: number;
  /** Those of them that do not wait for their tool. */
  readonly ready: number;
  /** The error of a call for which there would be no room to wait. */
  refuse(task: ToolTask): EngineError | undefined;
  /** Whether a call that just came may begin in front of everything that waits. */
  mayPass(job: ToolJob): boolean;
  push(job: ToolJob): void;
  /** A call that was taken but did not begin: it is the next one. */
  putBack(job: ToolJob): void;
  /** The call to begin now. */
  shift(): ToolJob | undefined;
  remove(job: ToolJob): void;
  drain(): readonly ToolJob[];
  onBegun(job: ToolJob): void;
  onEnded(job: ToolJob): void;
}

/** A tool that has a limit of its own. */
interface LimitedTool {
  running: number;
  readonly parked: FairQueue<ToolJob>;
}

export function createToolAdmission(options: ToolAdmissionOptions): ToolAdmission {
  const { maxQueue = 10_000, callsPerRun } = options;
  const maxQueuePerRun = options.maxQueuePerRun ?? Math.ceil(maxQueue / 2);
  const queue = createFairQueue<ToolJob>();
  const tools = new Map<string, LimitedTool>();
  /** Calls on threads by run; counted only when it matters. */
  const running = new Map<string, number>();
  let parked = 0;

  const hasRoom =
    callsPerRun === undefined ? undefined : (run: string): boolean => (running.get(run) ?? 0) < callsPerRun;

  function toolOf(job: ToolJob): LimitedTool | undefined {
    const { maxAtOnce } = job.options;
    if (maxAtOnce === undefined) return undefined;
    const key = keyOf(job);
    let tool = tools.get(key);
    if (tool === undefined) tools.set(key, (tool = { running: 0, parked: createFairQueue() }));
    return tool;
  }

  function isFull(tool: LimitedTool | undefined, job: ToolJob): boolean {
    return tool !== undefined && tool.running >= (job.options.maxAtOnce ?? Number.POSITIVE_INFINITY);
  }

  function shift(): ToolJob | undefined {
    for (let job = queue.shift(hasRoom); job !== undefined; job = queue.shift(hasRoom)) {
      const tool = toolOf(job);
      if (tool === undefined || !isFull(tool, job)) return job;
      tool.parked.push(runOf(job.task), job);
      parked += 1;
    }
    return undefined;
  }

  function unpark(tool: LimitedTool): void {
    const next = tool.parked.shift();
    if (next === undefined) return;
    parked -= 1;
    queue.unshift(runOf(next.task), next);
  }

  function count(job: ToolJob, change: 1 | -1): void {
    if (callsPerRun === undefined) return;
    const run = runOf(job.task);
    const now = (running.get(run) ?? 0) + change;
    if (now > 0) running.set(run, now);
    else running.delete(run);
  }

  return {
    get waiting() {
      return queue.size + parked;
    },
    get ready() {
      return queue.size;
    },
    refuse(task) {
      if (queue.size + parked >= maxQueue) return overloaded(`${maxQueue} calls are waiting`);
      // why: counted only in a queue that is long enough for it to matter
      if (queue.size + parked < maxQueuePerRun) return undefined;
      const run = runOf(task);
      let waiting = queue.sizeOf(run);
      for (const tool of tools.values()) waiting += tool.parked.sizeOf(run);
      return waiting < maxQueuePerRun ? undefined : overloaded(`${maxQueuePerRun} calls of this run are waiting`);
    },
    mayPass: (job) => queue.size === 0 && hasRoom?.(runOf(job.task)) !== false && !isFull(toolOf(job), job),
    push: (job) => queue.push(runOf(job.task), job),
    putBack: (job) => queue.unshift(runOf(job.task), job),
    shift,
    remove(job) {
      const run = runOf(job.task);
      if (!queue.remove(run, job) && toolOf(job)?.parked.remove(run, job) === true) parked -= 1;
    },
    drain() {
      const all = [...queue.drain()];
      for (const tool of tools.values()) all.push(...tool.parked.drain());
      parked = 0;
      return all;
    },
    onBegun(job) {
      count(job, 1);
      const tool = toolOf(job);
      if (tool !== undefined) tool.running += 1;
    },
    onEnded(job) {
      count(job, -1);
      const tool = toolOf(job);
      if (tool === undefined) return;
      tool.running -= 1;
      unpark(tool);
      if (tool.running === 0 && tool.parked.size === 0) tools.delete(keyOf(job));
    },
  };
}

function keyOf({ task }: ToolJob): string {
  return `${task.module}#${task.tool}`;
}

/** Calls outside of a run count as one run. */
function runOf(task: ToolTask): string {
  return task.context.run ?? '';
}

function overloaded(reason: string): EngineError {
  return new EngineError('tool', `the tool pool is overloaded: ${reason}`, { code: 'overloaded' });
}
