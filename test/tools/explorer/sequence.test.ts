/**
 * Goal: the graph of PSNs is no smear however much is in it: what falls on the same spot is one mark that says how many
 * it stands for, and nothing is lost by that. Method: the capture with losses in wide and in narrow pictures.
 */
import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../../tools/explorer/engine/file-bytes.ts';
import { PointKind, sequencePicture } from '../../../tools/explorer/engine/sequence.ts';
import { CaptureSession } from '../../../tools/explorer/engine/session.ts';
import { lossyCapture } from './lossy-capture.ts';

async function opened(): Promise<CaptureSession> {
  const session = new CaptureSession('lossy.pcapng', bytesInMemory(new Uint8Array(await lossyCapture())));
  while (session.work(1000));
  return session;
}

describe('sequencePicture', () => {
  const params = { conversation: 1, requester: 0, fromNs: 0, toNs: 0, width: 1200, height: 500 } as const;

  it('draws what falls on the same spot together, and says how many packets that are', async () => {
    const session = await opened();
    const [large, small] = [2000, 40].map((width) => sequencePicture(session, { ...params, width }));
    const sum = (picture: typeof large) => picture?.merged.reduce((all, merged) => all + merged, 0);
    expect(small?.kind.length).toBeLessThan(large?.kind.length ?? 0);
    expect(sum(small)).toBe(sum(large));
    expect(small?.highPsn).toBe(large?.highPsn);
    const again = [...(small?.merged ?? [])].map((merged, at) =>
      small?.kind[at] === PointKind.RequestAgain ? merged : 0,
    );
    expect(Math.max(...again)).toBeGreaterThan(3);
  });

  it('keeps the chosen packet apart', async () => {
    const session = await opened();
    const retransmissions = session
      .packetsOf(1)
      .values.filter((index) => ((session.table.marks[index] ?? 0) & 1) !== 0);
    const selected = (retransmissions[3] ?? 0) + 1;
    const picture = sequencePicture(session, { ...params, width: 10, height: 10, selected });
    const at = picture.number.indexOf(selected);
    expect(at).toBeGreaterThanOrEqual(0);
    expect(picture.merged[at]).toBe(1);
  });
});
