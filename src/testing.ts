// The public surface of `vibe-bus/testing`: fakes that keep the contract of the real thing.
export { recordProvider, type RecordingSink } from './providers/record.ts';
export { createReplayProvider, type ReplayOptions } from './providers/replay.ts';
export { createScriptedProvider, type ScriptedData, type ScriptedProvider } from './providers/scripted.ts';
export { createManualClock, type ManualClock } from './testing/manual-clock.ts';
export { inMemoryPlugin } from './testing/memory-plugin.ts';
export { createRecorder, type EventRecorder } from './testing/recorder.ts';
export { silentLogger } from './protocol/deps.ts';
