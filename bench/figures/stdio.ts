import path from 'node:path';
import { measure } from '../measure.ts';
import { openEchoHost, openRawEcho, toEchoContender } from '../plugin-host.ts';
import { type Row, toRow } from '../report.ts';

/** A round trip to a plugin process, one after the other and 64 at a time, against bare newline framing. */
export async function measureStdio(folder: string): Promise<readonly Row[]> {
  const command = [process.execPath, path.join(folder, 'fixtures', 'echo-plugin.mjs')] as const;
  const ours = await openEchoHost(command);
  const raw = await openRawEcho(command);
  const rows: Row[] = [];
  for (const { name, width, goal } of [
    { name: 'stdio.sequential', width: 1, goal: 1.15 },
    { name: 'stdio.64-in-flight', width: 64, goal: 1.2 },
  ]) {
    const rawName = width === 1 ? 'raw framing' : 'raw framing, coalesced';
    const [oursNs = [], rawNs = []] = await measure(
      [toEchoContender('vibe-bus', ours.call, width), toEchoContender(rawName, raw.call, width)],
      // why: long enough that the pipeline is full for most of it
      { clock: 'wall', sampleMs: width === 1 ? 1.5 : 6 },
    );
    rows.push(toRow({ name, unit: 'us', goal, ours: oursNs, reference: { name: rawName, series: rawNs } }));
  }
  await ours.close();
  await raw.close();
  return rows;
}
