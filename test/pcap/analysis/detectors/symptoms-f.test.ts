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
import { mendChecksum, mendIcrc, type RewrittenPacket, rewriteCapture } from '../../../../tools/symptoms/rewrite.ts';
import { alarms, analyze, findingOf, packetsOf, sceneNamed } from './support.ts';

const ID = 'nvme-no-completion';
/** The read that hangs, in the scenes. */
const READ = { frame: 65, cid: 3072 };
const KEEP_ALIVE = 0x18;
const ABORT = 0x08;
const EVENTS = 0x0c;
const FORMAT = 0x80;
const REQUEST_PRIVATE_DATA_AT = MAD_HEADER_BYTES + 140;
/** From the private data of NVMe back to the port space in the service id. */
const PORT_SPACE_BEFORE = IP_CM_HEADER_BYTES + 140 - 13;
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

/** Where RoCE begins in the scenes. */
const BTH_AT = 42;
/** Responses to reads invalidate a key. */
const BTH_AND_KEY = 12 + 4;
const queuePairOf = (packet: CapturedPacket | undefined): number =>
  packet === undefined ? -1 : new DataView(packet.bytes.buffer, packet.bytes.byteOffset).getUint32(BTH_AT + 4);
/** Whether a packet is a SEND of one packet over RC that this host sent. */
const isCapsule = ({ bytes }: CapturedPacket, host: 1 | 2): boolean =>
  bytes[11] === host && (bytes[BTH_AT] === Op.SendOnly || bytes[BTH_AT] === Op.SendOnlyInvalidate);

function earlier(packet: CapturedPacket, ns: number): CapturedPacket {
  const time = BigInt(packet.seconds) * 1_000_000_000n + BigInt(packet.nanoseconds) - BigInt(Math.round(ns));
  return { ...packet, seconds: Number(time / 1_000_000_000n), nanoseconds: Number(time % 1_000_000_000n) };
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

/** The scene with 10.0.0.3 in the place of 10.0.0.2. */
function ofThirdHost(capture: Uint8Array): Uint8Array {
  return rewriteCapture(capture, (packet) => {
    const { bytes, view } = packet;
    for (let at = 14; at + 4 <= bytes.length; at++)
      if (view.getUint32(at) === 0x0a_00_00_02) view.setUint32(at, 0x0a_00_00_03);
    mendChecksum(packet);
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

  it('that may take minutes is stuck when the host sends Abort for it', () => {
    const opcodes = [FORMAT, ABORT];
    let format = -1;
    const changed = withCapsules((at, { view }, isCommand) => {
      const cid = view.getUint16(at + (isCommand ? 2 : 12), true);
      if (!isCommand) {
        if (cid !== format) return false;
        view.setUint16(at + 12, 0xffff, true);
        return true;
      }
      const opcode = view.getUint8(at) === KEEP_ALIVE ? opcodes.shift() : undefined;
      if (opcode === undefined) return false;
      if (opcode === FORMAT) format = cid;
      view.setUint8(at, opcode);
      view.setUint16(at + 40, 0, true);
      view.setUint16(at + 42, format, true);
      return true;
    });
    expect(found(until(changed, 4))).toMatchObject([{ severity: 'error', evidence: { opcode: FORMAT, commands: 1 } }]);
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

  it('is none where the capture has lost a packet of the controller, and of other queues no more than a note', () => {
    const packets = packetsOf(hangs);
    const without = (queuePair: number) => {
      const at = packets.findIndex(
        (packet) => packet.number > READ.frame + 20 && isCapsule(packet, 2) && queuePairOf(packet) === queuePair,
      );
      expect(at).toBeGreaterThan(0);
      return found(packets.filter((_, index) => index !== at && index !== at + 1));
    };
    const numbers = [...new Set(packets.filter((packet) => isCapsule(packet, 2)).map(queuePairOf))];
    const findings = numbers.map(without);
    expect(findings.map((each) => each.map(({ severity }) => severity))).toEqual([['note'], []]);
  });

  it('is none where nothing shows that it arrived: neither an ACK nor a response to what came after it', async () => {
    const alone = packetsOf(await sceneNamed('nvme-only-command-hangs').make());
    const acked = alone.findIndex(({ number, bytes }) => number > READ.frame && bytes[11] === 2);
    expect(found(alone)).toHaveLength(1);
    expect(found(alone.filter((_, index) => index !== acked))).toEqual([]);
  });

  it('arrived when later ones were answered, though the last command of its queue has no ACK yet', () => {
    const packets = until(hangs, 5.6);
    const queue = queuePairOf(packets[READ.frame - 1]);
    const last = packets.findLastIndex((packet) => isCapsule(packet, 1) && queuePairOf(packet) === queue);
    expect(found(packets.slice(0, last + 1))).toHaveLength(1);
  });

  it('is none when what was answered meanwhile had been sent before it', async () => {
    const alone = packetsOf(await sceneNamed('nvme-only-command-hangs').make());
    const isAdmin = (packet: CapturedPacket) => queuePairOf(packet) !== queuePairOf(alone[READ.frame - 1]);
    const asked = alone.findLast((packet) => isAdmin(packet) && isCapsule(packet, 1));
    const answered = alone.findLast((packet) => isCapsule(packet, 2));
    if (asked === undefined || answered === undefined) throw new Error('there is no Keep Alive');
    const [before, read, acked] = [alone.slice(0, READ.frame - 1), ...alone.slice(READ.frame - 1, READ.frame + 1)];
    const { seconds, nanoseconds: rest } = read as CapturedPacket;
    const kept = (order: readonly (CapturedPacket | undefined)[]) =>
      [...before, ...order.flatMap((packet) => packet ?? []), answered].map((packet, index) => ({
        ...packet,
        ...(packet === asked ? { seconds, nanoseconds: rest + (order[0] === asked ? 0 : 1) } : {}),
        number: index + 1,
      }));
    expect(found(kept([read, asked, acked]))).toHaveLength(1);
    expect(found(kept([asked, read, acked]))).toEqual([]);
  });

  it('has waited four times as long as the slowest of its queue', () => {
    // The read before it took so much longer: everything up to its command came earlier.
    const slow = (longerNs: number, seconds: number) => {
      const packets = until(hangs, seconds);
      const queue = queuePairOf(packets[READ.frame - 1]);
      const before = packets.findLastIndex(
        (packet) => packet.number < READ.frame && isCapsule(packet, 1) && queuePairOf(packet) === queue,
      );
      return found(packets.map((packet, index) => (index > before ? packet : earlier(packet, longerNs))));
    };
    expect([5.1, 5.9, 6.1].map((seconds) => slow(1.5e9, seconds).length)).toEqual([0, 0, 1]);
    expect(slow(1.2e9, 5.1)).toHaveLength(1);
  });

  it('is stuck after one second when its queue was disconnected', async () => {
    const packets = packetsOf(await sceneNamed('nvme-disconnected-early').make());
    const read = packets[READ.frame - 1];
    if (read === undefined) throw new Error('the scene is shorter');
    // Answered for 2 s; with time that runs faster behind it, for less.
    const faster = (factor: number) =>
      found(packets.map((each) => earlier(each, Math.max(0, (1 - factor) * (nanoseconds(each) - nanoseconds(read))))));
    expect([0.55, 0.45].map((factor) => faster(factor).length)).toEqual([1, 0]);
  });

  it('of an I/O queue may have any opcode, and a Write Zeroes there is no Abort', () => {
    const withOpcode = (number: number, opcode: number) =>
      found(
        withCapsules((at, { view }, isCommand) => {
          if (!isCommand || view.getUint8(at) !== 0x02 || view.getUint16(at + 2, true) !== number) return false;
          view.setUint8(at, opcode);
          view.setUint16(at + 40, 1, true);
          view.setUint16(at + 42, READ.cid, true);
          return true;
        }),
      );
    expect(withOpcode(READ.cid, 0x0c)).toMatchObject([{ evidence: { opcode: 0x0c, commands: 1 } }]);
    expect(withOpcode(READ.cid + 1, ABORT)).toMatchObject([{ severity: 'warning', evidence: { gaveUp: 'no' } }]);
  });

  it('has no response in a packet that was damaged', () => {
    const packets = packetsOf(hangs);
    const queue = queuePairOf(packets.find((packet) => packet.number > READ.frame && isCapsule(packet, 2)));
    const at = packets.findLastIndex((packet) => isCapsule(packet, 2) && queuePairOf(packet) === queue);
    const damaged = packets[at] as CapturedPacket;
    const bytes = damaged.bytes.slice();
    new DataView(bytes.buffer).setUint16(BTH_AT + BTH_AND_KEY + 12, READ.cid, true);
    const all = [...packets.slice(0, at), { ...damaged, bytes }, ...packets.slice(at)];
    expect(found(all.map((packet, index) => ({ ...packet, number: index + 1 })))).toHaveLength(1);
  });
});

describe('what is no queue of NVMe', () => {
  it.each([
    ['private data of another format', (at: number, view: DataView) => view.setUint16(at, 1, true)],
    ['no receives', (at: number, view: DataView) => view.setUint16(at + 4, 0, true)],
    ['more commands than receives', (at: number, view: DataView) => view.setUint16(at + 6, 0xffff, true)],
    ['bytes behind what is defined', (at: number, view: DataView) => view.setUint8(at + 31, 1)],
    ['a service of another port space', (at: number, view: DataView) => view.setUint8(at - PORT_SPACE_BEFORE, 0x3f)],
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

  it('of two controllers: an answer of one is no sign of life of the other, an Abort for one is none for the other', () => {
    const aborted = firstKeepAlive(ABORT, (at, view) => {
      view.setUint16(at + 40, 1, true);
      view.setUint16(at + 42, READ.cid, true);
    });
    const both = (first: readonly CapturedPacket[], other: readonly CapturedPacket[]) =>
      found(
        [...first, ...other]
          .sort((a, b) => nanoseconds(a) - nanoseconds(b))
          .map((packet, index) => ({ ...packet, number: index + 1 })),
      ).map(({ severity, evidence }) => `${severity} ${evidence['controller']}`);
    const third = packetsOf(ofThirdHost(hangs));
    expect(both(packetsOf(hangs), third)).toEqual(['warning 10.0.0.2', 'warning 10.0.0.3']);
    expect(both(until(hangs, 1), third)).toEqual(['warning 10.0.0.3']);
    expect(both(packetsOf(hangs), packetsOf(ofThirdHost(aborted)))).toEqual(['error 10.0.0.3', 'warning 10.0.0.2']);
  });

  it('of two interfaces has a command once', () => {
    const both = packetsOf(hangs).flatMap((packet) => [packet, { ...packet, interfaceIndex: 1 }]);
    const findings = found(both.map((packet, index) => ({ ...packet, number: index + 1 })));
    expect(findings.map(({ evidence }) => evidence['commands'])).toEqual([1]);
  });

  it('of capsules of several packets: only the first begins with a command', () => {
    let reads = 0;
    const several = withCapsules((at, { bytes, view }, isCommand) => {
      if (!isCommand || view.getUint8(at) !== 0x02 || ++reads < 4 || reads > 5) return false;
      bytes[BTH_AT] = reads === 4 ? Op.SendFirst : Op.SendLast;
      if (reads === 5) bytes.fill(0, at, at + 64);
      return true;
    });
    expect(found(several).map(({ evidence }) => evidence['commands'])).toEqual([1]);
  });

  it('that has every frame twice has the same finding', () => {
    const twice = packetsOf(hangs).flatMap((packet) => [packet, packet]);
    const findings = found(twice.map((packet, index) => ({ ...packet, number: index + 1 })));
    expect(findings.map(({ evidence }) => evidence['laterResponses'])).toEqual([16]);
  });
});
