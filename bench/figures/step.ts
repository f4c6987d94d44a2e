import { createAiSdk } from '../contenders/ai-sdk.ts';
import { createPi } from '../contenders/pi.ts';
import { createVibeBus } from '../contenders/vibe-bus.ts';
import { measure } from '../measure.ts';
import { loadAiSdk, loadPi } from '../peers.ts';
import { type Row, toRow } from '../report.ts';

/** Steps of one run: the transcript grows by two messages a step, for everyone alike. */
const steps = 200;

/**
 * What one agent step costs beside model and tool: a model that answers at once with one tool call, a trivial tool with one
 * checked argument, all events seen by one observer. Everyone uses the schema library it is made for.
 */
export async function measureStep(folder: string): Promise<readonly Row[]> {
  const ours = await createVibeBus(steps);
  const pi = createPi(await loadPi(folder), steps);
  const aiSdk = createAiSdk(await loadAiSdk(folder), steps);
  const [oursNs = [], piNs = []] = await measure([ours, pi]);
  const [besideNs = [], aiSdkNs = []] = await measure([ours, aiSdk], { rounds: 24, sampleMs: 50 });
  await ours.close();
  return [
    toRow({ name: 'step', unit: 'us', goal: 1.5, ours: oursNs, reference: { name: pi.name, series: piNs } }),
    toRow({
      name: 'step.ai-sdk',
      unit: 'us',
      goal: 0.1,
      ours: besideNs,
      reference: { name: aiSdk.name, series: aiSdkNs },
    }),
  ];
}
