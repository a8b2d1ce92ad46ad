/**
 * A sender and a receiver of an unreliable service, and between them a wire that does to each packet what the scenario
 * says: nothing is acknowledged, so the order of arrival is all the time there is. Holds no opinion on what should come
 * of it.
 */
import fc from 'fast-check';
import { Frame, FrameStatus, Medium, parseFrame } from '../../../packets/frame.ts';
import { FrameWriter } from '../../../packets/frame-writer.ts';
import { icrcMatches } from '../../../packets/icrc.ts';
import type { QueuePair } from '../../../transport/queue-pair.ts';
import { SLOT_BYTES } from '../../transport/support/wire.ts';

/**
 * What becomes of one packet: how often it arrives, how many packets later, and whether one copy is damaged, and where.
 */
export interface Fate {
  readonly copies: number;
  readonly delay: number;
  /** Bit to flip in the first copy, as a share of its bits; undefined for none. */
  readonly damage: number | undefined;
}

export const CLEAN: Fate = { copies: 1, delay: 0, damage: undefined };

/** Fates of packets; each kind of fault has its own weight of 10. */
export function fate(faults: {
  loss?: number;
  duplicate?: number;
  reorder?: number;
  damage?: number;
}): fc.Arbitrary<Fate> {
  const { loss = 0, duplicate = 0, reorder = 0, damage = 0 } = faults;
  return fc.oneof(
    { weight: 10, arbitrary: fc.constant(CLEAN) },
    { weight: loss, arbitrary: fc.constant({ ...CLEAN, copies: 0 }) },
    {
      weight: duplicate,
      arbitrary: fc.record({ ...constants(CLEAN), copies: fc.integer({ min: 2, max: 3 }), delay: fc.nat(2) }),
    },
    { weight: reorder, arbitrary: fc.record({ ...constants(CLEAN), delay: fc.integer({ min: 1, max: 5 }) }) },
    {
      weight: damage,
      arbitrary: fc.record({
        ...constants(CLEAN),
        damage: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      }),
    },
  );
}

const constants = (value: Fate) => ({
  copies: fc.constant(value.copies),
  delay: fc.constant(value.delay),
  damage: fc.constant(value.damage),
});

export interface Arrival {
  /** Number of the packet, in the order of sending. */
  readonly packet: number;
  /** Whether the receiver was given it: its ICRC was right. */
  readonly sound: boolean;
}

/** Sends all that `from` has, through the wire, to `to`. `fates` are taken in turn. */
export function carry(
  from: QueuePair,
  to: QueuePair,
  fates: readonly Fate[],
  arrived: (packet: number) => void,
): Arrival[] {
  const flights: { at: number; packet: number; bytes: Uint8Array }[] = [];
  drain(from).forEach((bytes, packet) => {
    const { copies, delay, damage } = fates[packet % fates.length] ?? CLEAN;
    for (let copy = 0; copy < copies; copy++) {
      const flown = copy === 0 && damage !== undefined ? flipped(bytes, damage) : bytes;
      flights.push({ at: packet + delay * (copy === 0 && copies > 1 ? 0 : 1), packet, bytes: flown });
    }
  });
  // A stable sort: what arrives at one time arrives in the order of sending.
  flights.sort((a, b) => a.at - b.at);
  return flights.map(({ packet, bytes }) => {
    const sound = deliver(to, bytes);
    if (sound) arrived(packet);
    return { packet, sound };
  });
}

/** Everything a queue pair has to send, as bytes. */
export function drain(qp: QueuePair): Uint8Array[] {
  const frames: Uint8Array[] = [];
  while (qp.pending) {
    writer.reset();
    qp.transmit(0, writer);
    for (let i = 0; i < writer.count; i++) {
      const start = writer.starts[i] ?? 0;
      frames.push(writer.bytes.slice(start, start + (writer.lengths[i] ?? 0)));
    }
  }
  return frames;
}

const writer = new FrameWriter(32, SLOT_BYTES);
const frame = new Frame();

function deliver(to: QueuePair, bytes: Uint8Array): boolean {
  const status = parseFrame(bytes, new DataView(bytes.buffer), 0, bytes.length, Medium.Ip, frame);
  if (status !== FrameStatus.Ok || !icrcMatches(frame)) return false;
  to.handleFrame(0, frame);
  return true;
}

function flipped(bytes: Uint8Array, share: number): Uint8Array {
  const copy = bytes.slice();
  const bit = Math.floor(share * bytes.length * 8);
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return copy;
}
