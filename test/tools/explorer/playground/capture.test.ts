/**
 * Goal: a session leaves as a capture that others read. Method: our reader and tshark read the same file back; what the
 * network did is in the comments, and each host's own view has what that host has seen.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCapture } from '../../../../pcap/index.ts';
import { PlaygroundSession, parseScenario } from '../../../../tools/explorer/playground/index.ts';
import { tsharkNumber, tsharkRows } from '../../../../tools/tshark.ts';
import { describeWith } from '../../../support/need.ts';

const LOSSY = {
  operations: [{ kind: 'write', bytes: 4096 }],
  interventions: [
    { host: 0, packet: 3, action: 'drop' },
    { host: 0, packet: 4, action: 'corrupt' },
    { host: 0, packet: 1, action: 'duplicate' },
  ],
};

function played(): PlaygroundSession {
  const session = new PlaygroundSession(parseScenario(LOSSY));
  session.run();
  return session;
}

describe('the capture of a session', () => {
  it('has every packet as it was sent, and says what befell it', () => {
    const captured = played().captured();
    expect(captured.map(({ number }) => number)).toEqual(captured.map((_, index) => index + 1));
    expect(captured.map(({ comments }) => comments.join()).filter((text) => text !== '')).toEqual([
      'lost on its way: dropped',
      'damaged on its way',
      'a copy that the network made',
    ]);
  });

  it('has a copy of a damaged packet as damaged as it was', () => {
    const session = new PlaygroundSession(parseScenario({}), 2);
    session.corrupt();
    session.duplicate();
    session.run(2);
    const [original, copy] = session.captured();
    expect(copy?.comments).toContain('a copy that the network made');
    expect(copy?.bytes).toEqual(session.details(1, 'arrived')?.bytes);
    expect(copy?.bytes).not.toEqual(original?.bytes);
  });

  it('has for one host what that host has sent and received', () => {
    const session = played();
    const packets = session.packets();
    const b = session.captured(1);
    expect(b.filter(({ direction }) => direction === 2)).toHaveLength(packets.filter(({ from }) => from === 1).length);
    expect(b.filter(({ direction }) => direction === 1)).toHaveLength(
      packets.filter(({ to, state }) => to === 1 && state === 'delivered').length,
    );
    const times = session.captured(0).map(({ seconds, nanoseconds }) => seconds * 1e9 + nanoseconds);
    expect(times.length).toBeGreaterThan(6);
    expect(times).toEqual([...times].sort((x, y) => x - y));
  });

  it('is a pcapng file that leads back to the session', () => {
    const session = played();
    const packets = [...readCapture(session.pcapng())];
    expect(packets.map(({ bytes }) => [...bytes])).toEqual(session.captured().map(({ bytes }) => [...bytes]));
    expect(new TextDecoder('latin1').decode(session.pcapng())).toContain(session.link());
  });
});

describeWith('tshark', 'tshark', () => {
  it('reads the same packets from the file', async () => {
    const session = played();
    const folder = mkdtempSync(join(tmpdir(), 'playground-'));
    try {
      const file = join(folder, 'session.pcapng');
      writeFileSync(file, session.pcapng());
      const rows = await tsharkRows(file, ['infiniband.bth.opcode', 'infiniband.bth.psn', '_ws.malformed']);
      const seen = rows.map((row) =>
        ['infiniband.bth.opcode', 'infiniband.bth.psn'].map((name) => Number(tsharkNumber(row.get(name)?.[0] ?? ''))),
      );
      const ours = [...session.packets()].sort((a, b) => a.sentNs - b.sentNs);
      expect(seen).toEqual(ours.map(({ opcode, psn }) => [opcode, psn]));
      expect(rows.flatMap((row) => row.get('_ws.malformed') ?? [])).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
