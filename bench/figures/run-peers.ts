import { createAiSdkCrowd } from '../contenders/crowd-ai-sdk.ts';
import { createLangGraphCrowd } from '../contenders/crowd-langgraph.ts';
import { createOpenaiAgentsCrowd } from '../contenders/crowd-openai-agents.ts';
import { createVibeBusCrowd } from '../contenders/crowd-vibe-bus.ts';
import type { Crowd, CrowdContender } from '../contenders/crowd.ts';
import { measureOnce } from '../measure.ts';
import { loadAiSdk, loadLangGraph, loadOpenaiAgents } from '../peers.ts';
import { type Row, toRow } from '../report.ts';

// A thousand runs at once against peers that are slower by far: one pass of such a peer takes up to half a minute.

const crowd: Crowd = { runs: 1_000, steps: 10, calls: 5 };
/** Ours is warmed up by passes like the measured one, a peer by as many steps as there is time for. */
const small: Crowd = { ...crowd, runs: 100 };
const warmUpPasses = 4;

export async function measureAiSdkRuns(folder: string): Promise<readonly Row[]> {
  const sdk = await loadAiSdk(folder);
  return await measurePeer('runs-ai-sdk', 1 / 5, (size) => createAiSdkCrowd(sdk, size));
}

export async function measureOpenaiAgentsRuns(folder: string): Promise<readonly Row[]> {
  const agents = await loadOpenaiAgents(folder);
  return await measurePeer('runs-openai-agents', 1 / 15, (size) => createOpenaiAgentsCrowd(agents, size));
}

export async function measureLangGraphRuns(folder: string): Promise<readonly Row[]> {
  const lang = await loadLangGraph(folder);
  return await measurePeer('runs-langgraph', 1 / 15, (size) => createLangGraphCrowd(lang, size));
}

async function measurePeer(
  name: string,
  goal: number,
  createPeer: (size: Crowd) => CrowdContender,
): Promise<readonly Row[]> {
  const ours = await createVibeBusCrowd(crowd);
  const peer = createPeer(crowd);
  const [oursNs = [], peerNs = []] = await measureOnce([
    { contender: ours, warmUp: () => ours.run(warmUpPasses) },
    { contender: peer, warmUp: () => createPeer(small).run(1) },
  ]);
  await ours.close();
  return [toRow({ name, unit: 'us', goal, ours: oursNs, reference: { name: peer.name, series: peerNs } })];
}
