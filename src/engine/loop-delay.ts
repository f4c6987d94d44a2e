import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

/** How late the event loop of the main thread is, in milliseconds. */
export interface LoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Measures the delay of the main thread's event loop, from its first use until it is closed. */
export interface LoopDelayMonitor {
  start(): void;
  /** Since the last time it was read. */
  read(): LoopDelay;
  /** Of the last second or so; 0 before there is one. */
  recentP99(): number;
  close(): void;
}

/** How often the loop is asked, in milliseconds; a delay is what an answer comes later than that. */
const resolutionMs = 10;
const windowMs = 500;

export function createLoopDelayMonitor(): LoopDelayMonitor {
  let sinceRead: IntervalHistogram | undefined;
  let window: IntervalHistogram | undefined;
  let timer: NodeJS.Timeout | undefined;
  let recent = 0;

  function open(): IntervalHistogram {
    const histogram = monitorEventLoopDelay({ resolution: resolutionMs });
    histogram.enable();
    return histogram;
  }

  function startWindow(): void {
    window = open();
    timer = setInterval(() => {
      recent = toDelay(window).p99;
      window?.reset();
    }, windowMs);
    timer.unref();
  }

  return {
    start: () => void (sinceRead ??= open()),
    read() {
      const delay = toDelay(sinceRead);
      sinceRead?.reset();
      return delay;
    },
    recentP99() {
      if (timer === undefined) startWindow();
      return recent;
    },
    close() {
      clearInterval(timer);
      sinceRead?.disable();
      window?.disable();
    },
  };
}

function toDelay(histogram: IntervalHistogram | undefined): LoopDelay {
  if (histogram === undefined || histogram.count === 0) return { p50: 0, p99: 0, max: 0 };
  const late = (nanoseconds: number): number =>
    Math.max(0, Number((nanoseconds / 1_000_000 - resolutionMs).toFixed(1)));
  return { p50: late(histogram.percentile(50)), p99: late(histogram.percentile(99)), max: late(histogram.max) };
}
