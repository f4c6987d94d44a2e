// The public surface of `vibe-bus`. The only file made of re-exports.
export { createEngine, type Engine } from './engine.ts';
export type {
  ContinuationOptions,
  EngineOptions,
  Placement,
  RunLimits,
  RunOptions,
  StructuredOptions,
  TrustDecision,
} from './engine/options.ts';
export type { RunHandle } from './engine/run-handle.ts';
export { agentTool, type AgentTool, type AgentToolOptions } from './engine/agent-tool.ts';
export type { AdmissionOptions } from './engine/admission.ts';
export type { MapInput, MapOptions, MapProgress } from './engine/map.ts';
export type { EngineStats } from './engine/stats.ts';
export type { AgentRegistry } from './engine/agents.ts';

export {
  type AgentInput,
  type AgentOutcome,
  type AgentSpec,
  type AgentStop,
  type CancelCause,
  type CancelMode,
  defineAgent,
  type ModelSelection,
  type TaskInfo,
  type ThinkingLevel,
  type ToolSelection,
} from './protocol/agent.ts';
export { withDescription, withMaxSteps, withStructuredOutput, withThinking, withTools } from './agent/spec.ts';
export { extractJson } from './agent/extract-json.ts';
export type { OutputSchema } from './agent/output-schema.ts';
export type { BudgetLimits, ModelPrice } from './agent/budget.ts';

export { defineTool, type HandlerContext, type ToolDefinition } from './tools/define.ts';
export type { ToolRegistry } from './tools/registry.ts';
export type { ApprovalDecision, ApprovalRequest, Approver } from './tools/approvals.ts';
export type { ToolTrace } from './tools/output.ts';
export type { Permissions, Tool, ToolContext, ToolOutput } from './protocol/tool.ts';

export type { Bus, BusStats, EventListener, Topic } from './bus/bus.ts';
export type { Envelope } from './bus/envelope.ts';
export { type BusEvent, eventJsonSchema, events, type EventType } from './bus/events.ts';
export type { Hooks } from './bus/hooks.ts';
export { type EventStream, isLagged, type StreamItem, type StreamOptions } from './bus/stream.ts';
export type { BeforeToolAnswer, BeforeToolCall, HookDecision, HookSet } from './protocol/hook.ts';

export { EngineError, type ErrorCode, type ErrorKind, isEngineError } from './protocol/error.ts';
export type { Json, JsonObject } from './protocol/json.ts';
export type { ContentBlock, Message, Usage } from './protocol/message.ts';
export type {
  CompletionRequest,
  CompletionResponse,
  OnDelta,
  Provider,
  ProviderInfo,
  ProviderRef,
  StopReason,
  StreamDelta,
} from './protocol/model.ts';
export type { ContributionRegistry } from './protocol/contributions.ts';
export type { Clock, Logger, LogFields, LogLevel } from './protocol/deps.ts';
export type { CallId, NewId, RunId } from './protocol/ids.ts';
export { fromAiSdk } from './providers/ai-sdk.ts';
export { recordProvider } from './providers/record.ts';
export { createReplayProvider } from './providers/replay.ts';
export type { RuleLists, RuleSet } from './tools/rules.ts';
export type { ProviderDeps, ProviderKind } from './providers/provider.ts';
export type { Providers } from './providers/registry.ts';
export type { ProviderSettings } from './providers/settings.ts';

export type { PluginDeclaration } from './plugins/declaration.ts';
export { type FaultResult, fuzzPlugin, type FuzzPluginOptions } from './plugins/fault-kit.ts';
export type { PluginHost } from './plugins/host.ts';
export type { PluginStatus } from './plugins/plugin-status.ts';
export type { NativePlugin } from './plugins/native.ts';
export type { McpHost } from './mcp/host-options.ts';
export type { McpAuthorization, McpServerInput, McpTokenStatus } from './protocol/mcp.ts';
export type { ActorInfo } from './actors/supervisor.ts';
export { createRunPool, type RunPool } from './workers/run-pool.ts';
