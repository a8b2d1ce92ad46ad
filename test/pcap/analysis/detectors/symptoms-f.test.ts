/**
 * Goal: a command of NVMe that never completes is told of with the figures of the case, and its conditions are where
 * the file says. Method: the scenes that show it; and the first of them, cut short or with capsules changed, for each
 * condition just inside and just outside, through the whole analysis.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { CmAttribute, IP_CM_HEADER_BYTES } from '../../../../packets/cm/index.ts';
import { MAD_HEADER_BYTES } from '../../../../packets/mad.ts';
import { Op } from '../../../../packets/opcode.ts';
import type { Finding } from '../../../../pcap/analysis/types.ts';
import type { CapturedPacket } from '../../../../pcap/index.ts';
import { Prng } from '../../../../src/sim/index.ts';
import { mendIcrc, type RewrittenPacket, rewriteCapture } from '../../../../tools/symptoms/rewrite.ts';
import { alarms, analyze, findingOf, packetsOf, sceneNamed } from './support.ts';

const ID = 'nvme-no-completion';
/** The read that hangs, in the scenes. */
const READ = { frame: 65, cid: 3072 };
const KEEP_ALIVE = 0x18;
const ABORT = 0x08;
const EVENTS = 0x0c;
const FORMAT = 0x80;
const REQUEST_PRIVATE_DATA_AT = MAD_HEADER_BYTES + 140;
let hangs: Uint8Array;

beforeAll(async () => {
  hangs = await sceneNamed('nvme-read-hangs').make();
});

function found(capture: Uint8Array | readonly CapturedPacket[]): readonly Finding[] {
  return analyze(capture).findings.filter(({ id }) => id === ID);
}

const nanoseconds = ({ seconds, nanoseconds: rest }: CapturedPacket): number => seconds * 1e9 + rest;

/** The packets up to so long after the read that hangs. */
function until(capture: Uint8Array, seconds: number): CapturedPacket[] {
  const packets = packetsOf(capture);
  const sent = packets[READ.frame - 1];
  if (sent === undefined) throw new Error('the scene is shorter');
  return packets.filter((packet) => nanoseconds(packet) - nanoseconds(sent) <= seconds * 1e9);
}

/** The scene with its capsules changed; commands leave host 1, responses host 2. `change` returns whether it did. */
function withCapsules(change: (at: number, packet: RewrittenPacket, isCommand: boolean) => boolean): Uint8Array {
  return rewriteCapture(hangs, (packet) => {
    const { bytes, frame } = packet;
    if (frame.opcode === Op.SendOnly || frame.opcode === Op.SendOnlyInvalidate)
      if (change(frame.payloadOffset, packet, bytes[11] === 1)) mendIcrc(packet);
    return true;
  });
}

/** The scene with each REQ changed, at its private data. */
function withRequests(change: (privateDataAt: number, view: DataView) => void): Uint8Array {
  return rewriteCapture(hangs, (packet) => {
    const { view, frame } = packet;
    if (frame.opcode !== Op.UdSendOnly || view.getUint16(frame.payloadOffset + 16) !== CmAttribute.REQ) return true;
    change(frame.payloadOffset + REQUEST_PRIVATE_DATA_AT + IP_CM_HEADER_BYTES, view);
    mendIcrc(packet);
    return true;
  });
}

/** The first Keep Alive has this opcode, and a response with another identifier. */
function firstKeepAlive(opcode: number, set: (at: number, view: DataView) => void = () => {}): Uint8Array {
  let cid = -1;
  return withCapsules((at, { view }, isCommand) => {
    if (isCommand && cid < 0 && view.getUint8(at) === KEEP_ALIVE) {
      cid = view.getUint16(at + 2, true);
      view.setUint8(at, opcode);
      set(at, view);
      return true;
    }
    if (isCommand || cid < 0 || view.getUint16(at + 12, true) !== cid) return false;
    view.setUint16(at + 12, 0xffff, true);
    return true;
  });
}

describe('the scenes', () => {
  it.each([
    ['nvme-read-hangs', 'warning', { queue: 1, opcode: 2, commands: 1, laterResponses: 16, gaveUp: 'no' }, ''],
    ['nvme-host-gives-up', 'error', { laterResponses: 23, gaveUp: 'yes' }, 'The queue was disconnected with it'],
    ['nvme-only-command-hangs', 'warning', { queue: 1, laterResponses: 0, gaveUp: 'no' }, ''],
    ['nvme-disconnected-early', 'error', { laterResponses: 4, gaveUp: 'yes' }, 'The queue was disconnected with it'],
  ] as const)('%s has its figures', async (name, severity, evidence, says) => {
    const { text, frames, ...finding } = findingOf(analyze(await sceneNamed(name).make()), ID);
    expect(finding).toMatchObject({ severity, evidence: { identifier: READ.cid, ...evidence } });
    expect(text).toContain(`The NVMe command Read that 10.0.0.1 sent to 10.0.0.2 in frame ${READ.frame} `);
    expect(text).toContain(says);
    expect(frames[0]).toBe(READ.frame);
  });
});

describe('a command without a response', () => {
  it('is stuck when the controller has answered later ones for five seconds', () => {
    expect(found(until(hangs, 5.1))).toMatchObject([{ severity: 'warning', frames: [READ.frame, expect.anything()] }]);
    expect(found(until(hangs, 4.9))).toEqual([]);
  });

  it('is stuck at once when the host sends Abort for it', () => {
    const named = (qid: number, cid: number) =>
      firstKeepAlive(ABORT, (at, view) => {
        view.setUint16(at + 40, qid, true);
        view.setUint16(at + 42, cid, true);
      });
    const [finding] = found(until(named(1, READ.cid), 3));
    expect(finding).toMatchObject({ severity: 'error', evidence: { gaveUp: 'yes', commands: 1 } });
    expect(finding?.text).toMatch(/The host asked to abort it in frame \d+\./);
    expect(finding?.frameCount).toBe(3);
    expect(found(until(named(2, READ.cid), 3))).toEqual([]);
    expect(found(until(named(1, READ.cid + 1), 3))).toEqual([]);
  });

  it('of the admin queue is stuck as well, unless it waits for events or may take minutes', () => {
    const [finding, ...others] = found(firstKeepAlive(KEEP_ALIVE));
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ evidence: { commands: 2 } });
    expect(finding?.text).toContain('So is 1 more command of these hosts.');
    expect(found(firstKeepAlive(EVENTS))).toMatchObject([{ evidence: { commands: 1 } }]);
    expect(found(firstKeepAlive(FORMAT))).toMatchObject([{ evidence: { commands: 1 } }]);
  });

  it('had one, where its identifier is used again: the capture lacks it', () => {
    let reads = 0;
    const again = withCapsules((at, { view }, isCommand) => {
      if (!isCommand || view.getUint8(at) !== 0x02 || ++reads !== 4) return false;
      view.setUint16(at + 2, READ.cid, true);
      return true;
    });
    expect(reads).toBeGreaterThan(4);
    // The later one keeps the identifier: its own response, with another, is missing.
    expect(found(again).every(({ frames }) => !frames.includes(READ.frame))).toBe(true);
  });

  it('is none where the capture has lost a packet of the controller', () => {
    const packets = packetsOf(hangs);
    const response = packets.findIndex(({ bytes, number }) => number > READ.frame + 20 && bytes[11] === 2);
    const kept = packets.filter((_, index) => index !== response && index !== response + 1);
    expect(found(kept).filter(({ severity }) => severity !== 'note')).toEqual([]);
  });
});

describe('what is no queue of NVMe', () => {
  it.each([
    ['private data of another format', (at: number, view: DataView) => view.setUint16(at, 1, true)],
    ['no receives', (at: number, view: DataView) => view.setUint16(at + 4, 0, true)],
    ['more commands than receives', (at: number, view: DataView) => view.setUint16(at + 6, 0xffff, true)],
    ['bytes behind what is defined', (at: number, view: DataView) => view.setUint8(at + 31, 1)],
  ])('has %s in its REQ', (_, change) => {
    expect(found(withRequests(change))).toEqual([]);
    expect(found(withRequests(() => {}))).toHaveLength(1);
  });

  it('begins with another message than Connect', () => {
    const other = withCapsules((at, { view }, isCommand) => {
      if (!isCommand || view.getUint8(at) !== 0x7f || view.getUint8(at + 4) !== 0x01) return false;
      view.setUint8(at + 4, 0x02);
      return true;
    });
    expect(found(other)).toEqual([]);
  });
});

describe('a capture', () => {
  it('that is cut to its headers and a few bytes has enough of a capsule', () => {
    const cut = (length: number) =>
      packetsOf(hangs).map((packet) => {
        // Connection management is whole: its private data says what is a queue.
        const isManagement = packet.bytes.length > 290;
        return isManagement ? packet : { ...packet, bytes: packet.bytes.subarray(0, length) };
      });
    expect(found(cut(96))).toHaveLength(1);
    expect(found(cut(58))).toEqual([]);
  });

  it.each(['nvme-events-held-open', 'nvme-slow-command', 'nvme-slow-disk'])(
    'of sound commands raises no alarm, whatever it lacks: %s',
    async (name) => {
      const packets = packetsOf(await sceneNamed(name).make());
      const random = new Prng(name.length);
      const alarmed = (kept: readonly CapturedPacket[]) =>
        alarms(analyze(kept.map((packet, index) => ({ ...packet, number: index + 1 })))).map(({ text }) => text);
      for (const loss of [0.01, 0.05, 0.2])
        for (let round = 0; round < 4; round++)
          expect([loss, round, alarmed(packets.filter(() => !random.chance(loss)))]).toEqual([loss, round, []]);
      for (let round = 0; round < 6; round++) {
        const from = random.below(packets.length);
        expect([from, alarmed(packets.slice(0, from))]).toEqual([from, []]);
      }
    },
  );

  it('that has every frame twice has the same finding', () => {
    const twice = packetsOf(hangs).flatMap((packet) => [packet, packet]);
    const findings = found(twice.map((packet, index) => ({ ...packet, number: index + 1 })));
    expect(findings.map(({ evidence }) => evidence['laterResponses'])).toEqual([16]);
  });
});
