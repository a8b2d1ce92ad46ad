/**
 * Goal: what a device sends to itself never takes a place on a wire, and nothing else is lost with it; a capture still
 * shows it. Method: batches over a link that takes as many frames as it is told; then two devices on a unix socket, of
 * which one talks to itself.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatMac, IpAddress, MAC_BYTES } from '../../../packets/address.ts';
import { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { openDevice, WcStatus, WrOpcode } from '../../../src/index.ts';
import { OwnFramesLink } from '../../../src/node/links/own-frames.ts';
import { makeSide, PORT } from '../../device/support.ts';
import { BROADCAST, batchOf, Collector, frame, mac } from '../../sim/support.ts';

const OWN = 1;
const OTHER = 2;

/** A link that takes `takes` frames of a call, and the link around it. */
function made(takes = Infinity) {
  const wire = new Collector();
  const calls: number[] = [];
  const inner = {
    name: 'wire',
    medium: Medium.Ethernet,
    mtu: 1500,
    start: () => Promise.resolve(),
    close: () => Promise.resolve(),
    send(batch: FrameBatch, from: number): number {
      const count = Math.min(batch.count - from, takes);
      calls.push(count);
      const { bytes, view, starts, lengths } = batch;
      const end = from + count;
      wire.receive({ bytes, view, count, starts: starts.slice(from, end), lengths: lengths.slice(from, end) });
      return count;
    },
  };
  return { wire, calls, link: new OwnFramesLink(inner, mac(OWN)) };
}

/** Tags are 0, 1, 2 ... */
const batchTo = (...to: readonly (number | Uint8Array)[]) => batchOf(...to.map((one, tag) => frame(OWN, one, tag)));

describe('frames of a device to itself', () => {
  it('do not go on the wire; those around them do, in order', () => {
    const { wire, link } = made();
    expect(link.send(batchTo(OWN, OTHER, OWN, OWN, BROADCAST, OTHER, OWN), 0)).toBe(7);
    expect(wire.tags).toEqual([1, 4, 5]);
    expect(link.send(batchTo(OTHER, OWN, OTHER), 1)).toBe(2);
    expect(wire.tags).toEqual([1, 4, 5, 2]);
  });

  it('are no reason to ask the wire for anything', () => {
    const { calls, link } = made(0);
    expect(link.send(batchTo(OWN, OWN), 0)).toBe(2);
    expect(calls).toEqual([]);
  });

  it('are those to its whole address', () => {
    const { wire, link } = made();
    const near = [0, 1, 2, 3, 4, 5].map((at) => {
      const address = mac(OWN).slice();
      address[at] = (address[at] ?? 0) ^ 0x40;
      return address;
    });
    link.send(batchTo(...near, OWN), 0);
    expect(wire.tags).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('count as sent where a full wire takes some of the others: the rest is offered again, from the right frame', () => {
    const { wire, link } = made(1);
    const batch = batchTo(OWN, OTHER, OWN, OTHER, OWN, OTHER, OWN);
    const sent: number[] = [];
    for (let from = 0; from < batch.count && sent.length < 9; ) {
      sent.push(link.send(batch, from));
      from += sent.at(-1) ?? 0;
    }
    expect(sent).toEqual([3, 2, 2]);
    expect(wire.tags).toEqual([1, 3, 5]);
  });

  it('may lie in batches of any size, one after the other', () => {
    const { wire, link } = made();
    for (const count of [3, 200, 1]) link.send(batchTo(OWN, ...new Array<number>(count).fill(OTHER)), 0);
    expect(wire.tags).toHaveLength(204);
  });
});

describe('a device that talks to itself beside another', () => {
  it('keeps its wire free, and a capture shows the conversation', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'rocev2-own-frames-'));
    const link = `qemu:${join(directory, 'wire.sock')}`;
    const ownFrames = { in: 0, out: 0 };
    const other = await openDevice({ link, addresses: ['10.0.0.2/24'] });
    const open = await openDevice({
      link: `${link},connect`,
      addresses: ['10.0.0.1/24'],
      captureSink: {
        frame: (_timeNs, direction, bytes, start) => {
          if (formatMac(bytes, start) === formatMac(bytes, start + MAC_BYTES)) ownFrames[direction]++;
        },
      },
    });
    try {
      const [left, right] = [makeSide(open.device), makeSide(open.device)];
      const accepting = open.device.cm
        .listen(PORT)
        .next()
        .then(({ value }) => value.accept({ qp: right.qp }));
      await Promise.all([open.device.cm.connect({ address: '10.0.0.1', port: PORT, qp: left.qp }), accepting]);
      right.qp.postRecv({ wrId: 2, sges: [{ mr: right.mr }] });
      left.qp.postSend({ wrId: 1, opcode: WrOpcode.Send, inline: Uint8Array.of(7) });
      const { value } = await left.cq.next();
      expect(value.status).toBe(WcStatus.Success);
      // What this asks the other comes after all that was sent before.
      await left.pd.createAh({ destination: IpAddress.parse('10.0.0.2') });
      expect(other.device.counters.otherHost).toBe(0);
      // Three of the connection manager, a SEND and its acknowledgement.
      expect(ownFrames).toEqual({ in: 0, out: 5 });
    } finally {
      await open.close();
      await other.close();
      rmSync(directory, { recursive: true });
    }
  });
});
