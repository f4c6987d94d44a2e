import type { Envelope } from '../bus/envelope.ts';
import type { BusEvent } from '../bus/events.ts';
import type { CallId } from '../protocol/ids.ts';
import { countCharacters, firstCharacters, type JsonObject } from '../protocol/json.ts';
import { toPrintable, toPrintableLine } from '../telemetry/printable.ts';
import type { Style } from './style.ts';

export interface RunViewOptions {
  write(text: string): void;
  readonly style: Style;
  /** Whether text is shown while it streams; else it is shown once it is whole. */
  readonly isLive: boolean;
  readonly columns: number;
  /** Where a call that has ended was executed, in a user's words. */
  where(call: CallId): string;
  /** Tokens counted so far: they grow with every answer of the model, which is how a step is told from the next. */
  tokensUsed(): number;
}

/** Shows a run to a person, event by event, line by line. */
export interface RunView {
  /** Takes the events of one run and those without a run; call it from an observer, so that it sees each at its time. */
  show(envelope: Envelope): void;
}

export function createRunView(options: RunViewOptions): RunView {
  const { style } = options;
  const calls = new Map<CallId, { readonly tool: string; readonly input: JsonObject }>();
  let step = 0;
  /** Of the model's answer in this step. */
  let answer: 'none' | 'streaming' | 'whole' = 'none';
  let streamed: 'text' | 'thinking' | undefined;
  let tokens = 0;
  let isAtLineStart = true;

  return { show: ({ event }) => show(event) };

  function show(event: BusEvent): void {
    switch (event.type) {
      case 'agent_started':
        line(`${style.strong(event.role)} ${style.faint(`· ${event.model} · run ${event.run}`)}`);
        return;
      case 'agent_delta':
        if (options.isLive) showDelta(event);
        return;
      case 'agent_text':
        showText(event.text);
        return;
      case 'tool_called':
        openStep();
        calls.set(event.call, event);
        line(style.faint(`  → ${describeCall(event.tool, event.input, options.columns - 6)}`));
        return;
      case 'tool_returned':
        showReturn(event);
        return;
      case 'retrying':
        // what streamed so far belongs to an attempt that failed
        if (answer === 'streaming') step -= 1;
        answer = 'none';
        line(style.caution(`  retrying ${event.what} (attempt ${event.attempt}, in ${toSeconds(event.delay_ms)})`));
        return;
      case 'log':
        if (event.level !== 'info') line(style.caution(`  ${event.level}: ${event.message}`));
        return;
      case 'context_compacted':
        line(style.faint(`  older turns summarised: ${event.before_tokens} → ${event.after_tokens} tokens`));
        return;
      case 'tool_approval_requested':
        line(style.caution(`  ? ${event.tool} waits for approval${event.reason === null ? '' : `: ${event.reason}`}`));
        return;
      case 'tool_approval_resolved':
        line(
          style.faint(
            `  ${event.approved ? 'approved' : 'refused'}${event.comment === null ? '' : `: ${event.comment}`}`,
          ),
        );
        return;
      case 'run_queued':
        line(style.faint(`  waiting for a turn (place ${event.position})`));
        return;
      case 'run_steered':
      case 'run_followed_up':
        line(style.faint(`  ← ${event.text}`));
        return;
      case 'plugin_started':
        line(style.faint(`  plugin ${event.plugin} ${event.version} is up`));
        return;
      case 'plugin_exited':
        line(style.caution(`  plugin ${event.plugin} ended (${endOf(event.code, event.signal)})`));
        return;
      case 'plugin_restarted':
        line(style.faint(`  plugin ${event.plugin} was started again`));
        return;
      case 'plugin_gave_up':
        line(style.bad(`  plugin ${event.plugin} keeps failing and is not started again`));
        return;
      case 'plugin_progress':
        if (options.isLive && event.message !== undefined) line(style.faint(`  … ${event.tool}: ${event.message}`));
        return;
      case 'mcp_server_connected':
        line(style.faint(`  MCP server ${event.server_name} connected in ${event.elapsed_ms} ms`));
        return;
      case 'mcp_server_failed':
        line(style.caution(`  MCP server ${event.server_name} failed: ${event.error_code}`));
        return;
      case 'mcp_auth_needed':
        line(style.caution(`  MCP server ${event.server_name} needs authorization`));
        return;
      case 'agent_finished':
        endLine();
        return;
      case 'plugin_tools_changed':
      case 'mcp_server_stopped':
      case 'mcp_tools_changed':
      case 'mcp_tool_changed':
      case 'mcp_tool_loaded':
      case 'mcp_tool_unloaded':
      case 'tool_overridden':
      case 'map_progressed':
      case 'engine_stats':
      case 'loop_stalled':
      case 'actor_started':
      case 'actor_stopped':
      case 'actor_failed':
      case 'actor_restarted':
      case 'actor_gave_up':
      case 'run_started':
      case 'phase_started':
      case 'phase_finished':
      case 'subtask_updated':
      case 'validation_finished':
      case 'subtask_integrated':
      case 'committed':
      case 'merged':
      case 'budget_updated':
      case 'artefact_written':
      case 'approval_requested':
      case 'approval_resolved':
      case 'paused':
      case 'run_finished':
        // the engine's own business, or that of an embedding program
        return;
    }
  }

  function showDelta({ delta }: BusEvent<'agent_delta'>): void {
    if (answer !== 'streaming') openStep('streaming');
    if (delta.kind === 'thinking') {
      if (streamed === undefined) line(style.faint('  (thinking)'));
      streamed ??= 'thinking';
      return;
    }
    if (streamed !== 'text') endLine();
    streamed = 'text';
    const indented = toPrintable(delta.text).replaceAll('\n', '\n  ');
    options.write(isAtLineStart ? `  ${indented}` : indented);
    isAtLineStart = false;
  }

  function showText(text: string): void {
    const wasStreamed = answer === 'streaming' && streamed === 'text';
    openStep();
    if (wasStreamed) endLine();
    else options.write(`${toPrintable(text.trim()).replace(/^/gm, '  ')}\n`);
  }

  function showReturn(event: BusEvent<'tool_returned'>): void {
    const call = calls.get(event.call);
    calls.delete(event.call);
    const what = call === undefined ? event.tool : describeCall(call.tool, call.input, options.columns - 40);
    const cost = `${event.duration_ms} ms · ${options.where(event.call)}`;
    const mark = event.is_error ? style.bad('✗') : style.good('✓');
    line(`  ${mark} ${style.plain(what)} ${style.faint(`· ${cost}`)}`);
    if (event.is_error) line(style.bad(`    ${firstCharacters(firstLine(event.preview), options.columns - 5)}`));
  }

  /** Starts a new step when what is about to be shown belongs to an answer not seen yet. */
  function openStep(next: 'streaming' | 'whole' = 'whole'): void {
    const used = options.tokensUsed();
    const isNew = next === 'streaming' || (answer !== 'streaming' && (answer === 'none' || used !== tokens));
    if (isNew) {
      step += 1;
      streamed = undefined;
      line(style.strong(`step ${step}`));
    }
    answer = next;
    tokens = used;
  }

  /** One line of its own, made of styled pieces. */
  function line(text: string): void {
    endLine();
    options.write(`${text}\n`);
  }

  function endLine(): void {
    if (!isAtLineStart) options.write('\n');
    isAtLineStart = true;
  }
}

/** A call on one line: the tool and the argument that tells most, cut to `limit` characters, at least 20. */
export function describeCall(tool: string, input: JsonObject, limit: number): string {
  const named = ['command', 'path', 'pattern', 'url', 'query', 'name'].map((key) =>
    Object.hasOwn(input, key) ? input[key] : undefined,
  );
  const values = Object.values(input);
  const [main] = [...named, ...(values.length === 1 ? values : [])].filter((value) => typeof value === 'string');
  const text = main ?? (values.length === 0 ? '' : JSON.stringify(input));
  const shown = toPrintableLine(text);
  const room = Math.max(20, limit - countCharacters(tool));
  const short = countCharacters(shown) > room ? `${firstCharacters(shown, room - 1)}…` : shown;
  return `${tool} ${short}`.trimEnd();
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? '';
}

function endOf(code: number | null, signal: string | null): string {
  return signal === null ? `exit code ${code ?? 'unknown'}` : signal;
}

function toSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
