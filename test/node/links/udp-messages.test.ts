/**
 * Goal: whatever the frames, runs of them leave as exactly the same datagrams, and whatever the kernel reports, runs
 * that arrive become exactly the same frames. Method: the structures of the two calls, read and written by a kernel of
 * a few lines over pretended addresses.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../packets/address.ts';
import { FrameWriter } from '../../../packets/frame-writer.ts';
import { UdpPeers } from '../../../src/node/links/udp-endpoint.ts';
import { MAX_MESSAGES, ReceiveMessages } from '../../../src/node/links/udp-receive-messages.ts';
import { SendMessages } from '../../../src/node/links/udp-send-messages.ts';

const LOCAL = IpAddress.parse('fd99::1');
const PEERS = ['fd99::2', 'fd99::3'].map((text) => IpAddress.parse(text));
const PORT = 4791;
const MTU = 4200;

/** Addresses for buffers, beyond 32 bits as real ones are. */
class Memory {
  readonly #buffers: (readonly [number, Uint8Array])[] = [];

  readonly addressOf = (of: ArrayBuffer | Uint8Array): number => {
    const bytes = of instanceof Uint8Array ? of : new Uint8Array(of);
    const known = this.#buffers.find(([, buffer]) => buffer.buffer === bytes.buffer);
    if (known !== undefined) return known[0];
    const address = 0x7f_12_ff_f0_00_00 + this.#buffers.length * 0x1_00_00_00_00;
    this.#buffers.push([address, bytes]);
    return address;
  };

  at(address: number, length: number): Uint8Array {
    const found = this.#buffers.find(([base, { length: size }]) => address >= base && address + length <= base + size);
    if (found === undefined) throw new Error(`${length} bytes at ${address} are nobody's`);
    return found[1].subarray(address - found[0], address - found[0] + length);
  }

  view(address: number, length: number): DataView {
    const bytes = this.at(address, length);
    return new DataView(bytes.buffer, bytes.byteOffset, length);
  }
}

const pointer = (view: DataView, at: number): number => Number(view.getBigUint64(at, true));

interface Datagram {
  readonly to: number;
  readonly trafficClass: number;
  readonly hopLimit: number;
  readonly payload: Uint8Array;
}

/** A frame as the device makes them. */
function frameOf({ to, trafficClass, hopLimit, payload }: Datagram): Uint8Array {
  const bytes = new Uint8Array(48 + payload.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 0x60_00_00_00 | (trafficClass << 20));
  view.setUint16(4, 8 + payload.length);
  view.setUint8(6, 17);
  view.setUint8(7, hopLimit);
  LOCAL.writeGid(view, 8);
  PEERS[to]?.writeGid(view, 24);
  view.setUint16(40, PORT);
  view.setUint16(42, PORT);
  view.setUint16(44, 8 + payload.length);
  bytes.set(payload, 48);
  return bytes;
}

function batchOf(datagrams: readonly Datagram[]): FrameWriter {
  const writer = new FrameWriter(Math.max(1, datagrams.length), 9000);
  for (const datagram of datagrams) {
    const bytes = frameOf(datagram);
    writer.appendRaw(bytes, 0, bytes.length);
  }
  return writer;
}

/** What the kernel would send for a message: its bytes, cut into segments when it says so. */
function datagramsOf(memory: Memory, header: number): Datagram[] {
  const head = memory.view(header, 64);
  const name = memory.view(pointer(head, 0), head.getUint32(8, true));
  expect([name.getUint16(0, true), name.getUint16(2), name.byteLength]).toEqual([10, PORT, 28]);
  const to = PEERS.findIndex((peer) => IpAddress.read(name, 8, 6).equals(peer));
  const controls = new Map<number, number>();
  const control = memory.view(pointer(head, 32), pointer(head, 40));
  for (let at = 0; at < control.byteLength; at += (pointer(control, at) + 7) & ~7) {
    const level = control.getInt32(at + 8, true);
    const type = control.getInt32(at + 12, true);
    controls.set(
      level * 1000 + type,
      level === 17 ? control.getUint16(at + 16, true) : control.getInt32(at + 16, true),
    );
  }
  const pieces: Uint8Array[] = [];
  for (let i = 0, iov = pointer(head, 16); i < pointer(head, 24); i++, iov += 16) {
    const vector = memory.view(iov, 16);
    pieces.push(memory.at(pointer(vector, 0), pointer(vector, 8)));
  }
  const bytes = Uint8Array.from(pieces.flatMap((piece) => [...piece]));
  expect(bytes.length).toBeLessThanOrEqual(65_527);
  const size = controls.get(17_103) ?? bytes.length;
  const datagrams: Datagram[] = [];
  for (let at = 0; at < bytes.length; at += size)
    datagrams.push({
      to,
      trafficClass: controls.get(41_067) ?? -1,
      hopLimit: controls.get(41_052) ?? -1,
      payload: bytes.slice(at, at + size),
    });
  expect(datagrams.length).toBeLessThanOrEqual(64);
  return datagrams;
}

const datagrams = fc.array(
  fc.record({
    to: fc.constantFrom(0, 0, 0, 1),
    trafficClass: fc.constantFrom(0, 0, 0, 2),
    hopLimit: fc.constantFrom(64, 64, 64, 1),
    // Few sizes, so that there are runs.
    payload: fc
      .tuple(fc.constantFrom(16, 20, 300, 1044, 1044, 1044, 4112, 4112), fc.integer({ min: 0, max: 255 }))
      .map(([length, fill]) => new Uint8Array(length).fill(fill)),
  }),
  { minLength: 1, maxLength: 80 },
);

describe('SendMessages', () => {
  it.each([true, false])('sends exactly the datagrams of the frames, in order, segmentation %s', (segmentation) => {
    const memory = new Memory();
    const rules = { local: LOCAL, port: PORT, scopeId: 0, mtu: MTU };
    const messages = new SendMessages(rules, memory.addressOf);
    messages.segmentation = segmentation;
    fc.assert(
      fc.property(datagrams, (wanted) => {
        const batch = batchOf(wanted);
        const seen: Datagram[] = [];
        for (let from = 0; from < batch.count; ) {
          messages.fill(batch, from);
          for (let message = 0; message < messages.count; message++) {
            seen.push(...datagramsOf(memory, messages.address + message * 64));
            expect(messages.ends[message]).toBe(seen.length);
            if (!segmentation) expect(seen.length).toBe(from + message + 1);
          }
          from = messages.ends[messages.count - 1] ?? 0;
        }
        expect(seen).toEqual(wanted);
      }),
    );
  });

  it('makes one message of a burst of MIDDLE packets as far as a datagram holds them', () => {
    const messages = new SendMessages({ local: LOCAL, port: PORT, scopeId: 0, mtu: MTU }, new Memory().addressOf);
    const middle: Datagram = { to: 0, trafficClass: 0, hopLimit: 64, payload: new Uint8Array(4112) };
    messages.fill(batchOf(Array.from({ length: 32 }, () => middle)), 0);
    expect([...messages.ends.subarray(0, messages.count)]).toEqual([15, 30, 32]);
  });

  it('stops before a frame that a UDP socket cannot send as it is', () => {
    const messages = new SendMessages({ local: LOCAL, port: PORT, scopeId: 0, mtu: MTU }, new Memory().addressOf);
    const good = frameOf({ to: 0, trafficClass: 0, hopLimit: 64, payload: new Uint8Array(64) });
    const spoilt = (at: number, value: number): Uint8Array => {
      const bytes = good.slice();
      bytes[at] = value;
      return bytes;
    };
    const bad = [
      spoilt(0, 0x45),
      spoilt(5, 1),
      spoilt(6, 6),
      spoilt(23, 9),
      spoilt(41, 0),
      spoilt(43, 0),
      good.slice(0, 48),
      good.slice(0, 40),
      new Uint8Array(0),
      frameOf({ to: 0, trafficClass: 0, hopLimit: 64, payload: new Uint8Array(MTU) }),
    ];
    for (const bytes of bad) {
      const writer = new FrameWriter(3, 9000);
      for (const frame of [good, bytes, good]) writer.appendRaw(frame, 0, frame.length);
      messages.fill(writer, 0);
      expect([messages.count, messages.ends[0]]).toEqual([1, 1]);
      expect([0, 1, 2].map((index) => messages.takes(writer, index))).toEqual([true, false, true]);
    }
  });
});

interface Arrival {
  readonly from: number;
  readonly trafficClass: number;
  /** Segment size as told; 0 for not at all. */
  readonly size: number;
  readonly bytes: Uint8Array;
}

/** Does what recvmmsg does, into vectors, names and control messages. */
function deliver(memory: Memory, messages: ReceiveMessages, arrivals: readonly Arrival[]): void {
  for (const [index, { from, trafficClass, size, bytes }] of arrivals.entries()) {
    const head = memory.view(messages.address + index * 64, 64);
    const name = memory.view(pointer(head, 0), head.getUint32(8, true));
    PEERS[from]?.writeGid(name, 8);
    name.setUint16(2, 0xc0_00 + from);
    const control = memory.view(pointer(head, 32), pointer(head, 40));
    let at = 0;
    const put = (level: number, type: number, value: number): void => {
      control.setBigUint64(at, 20n, true);
      control.setInt32(at + 8, level, true);
      control.setInt32(at + 12, type, true);
      control.setInt32(at + 16, value, true);
      at += 24;
    };
    if (size > 0) put(17, 104, size);
    put(41, 67, trafficClass);
    head.setBigUint64(40, BigInt(at), true);
    let done = 0;
    for (let i = 0, iov = pointer(head, 16); i < pointer(head, 24) && done < bytes.length; i++, iov += 16) {
      const vector = memory.view(iov, 16);
      const piece = bytes.subarray(done, done + pointer(vector, 8));
      memory.at(pointer(vector, 0), pointer(vector, 8)).set(piece);
      done += piece.length;
    }
    expect(done).toBe(bytes.length);
    head.setUint32(56, bytes.length, true);
  }
}

/** The frames that the arrivals are to become. */
function framesOf(arrivals: readonly Arrival[]): Uint8Array[] {
  return arrivals.flatMap(({ from, trafficClass, size, bytes }) => {
    const frames: Uint8Array[] = [];
    const step = size > 0 ? size : bytes.length;
    for (let at = 0; at < bytes.length; at += step) {
      const payload = bytes.slice(at, at + step);
      const frame = frameOf({ to: 0, trafficClass, hopLimit: 64, payload });
      const view = new DataView(frame.buffer);
      PEERS[from]?.writeGid(view, 8);
      LOCAL.writeGid(view, 24);
      view.setUint16(40, 0xc0_00 + from);
      frames.push(frame);
    }
    return frames;
  });
}

function seenIn({ bytes, starts, lengths, count }: ReceiveMessages): Uint8Array[] {
  return Array.from({ length: count }, (_, i) => bytes.slice(starts[i], (starts[i] ?? 0) + (lengths[i] ?? 0)));
}

const arrival = (maxSegments: number): fc.Arbitrary<Arrival> =>
  fc
    .record({
      from: fc.constantFrom(0, 1),
      trafficClass: fc.constantFrom(0, 2, 3, 0xb8),
      size: fc.constantFrom(16, 20, 300, 1044, 1044, 1060, 4112, 4112, 4128, 4132, 9000),
      segments: fc.integer({ min: 1, max: maxSegments }),
      last: fc.integer({ min: 1, max: 9000 }),
      told: fc.boolean(),
      seed: fc.integer({ min: 0, max: 255 }),
    })
    .map(({ from, trafficClass, size, segments, last, told, seed }) => {
      const whole = Math.min(segments, Math.floor(65_527 / size)) - 1;
      const bytes = new Uint8Array(whole * size + Math.min(last, size)).map((_, i) => (i * 7 + (i >> 8) + seed) & 0xff);
      return { from, trafficClass, size: whole > 0 || told ? size : 0, bytes };
    });

describe('ReceiveMessages', () => {
  const make = (): { memory: Memory; messages: ReceiveMessages } => {
    const memory = new Memory();
    return { memory, messages: new ReceiveMessages(new UdpPeers(LOCAL), PORT, 4112, memory.addressOf) };
  };

  it('makes of runs of any size, expected or not, exactly their datagrams', () => {
    const { memory, messages } = make();
    const calls = fc.array(fc.array(arrival(64), { minLength: 1, maxLength: MAX_MESSAGES }), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(calls, (all) => {
        for (const arrivals of all) {
          messages.prepare();
          deliver(memory, messages, arrivals);
          messages.take(arrivals.length);
          const wanted = framesOf(arrivals);
          const seen = seenIn(messages);
          expect(seen.length).toBe(wanted.length);
          for (const [i, bytes] of wanted.entries())
            expect(Buffer.compare(seen[i] ?? bytes.subarray(1), bytes)).toBe(0);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('finds a datagram that lies in many vectors of a smaller run whole', () => {
    const { memory, messages } = make();
    const bytes = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 7) & 0xff);
    const call = (arrivals: readonly Arrival[]): void => {
      messages.prepare();
      deliver(memory, messages, arrivals);
      messages.take(arrivals.length);
      expect(seenIn(messages)).toEqual(framesOf(arrivals));
    };
    for (const size of [16, 20, 32, 60, 64, 65, 100]) {
      call([{ from: 0, trafficClass: 0, size, bytes: bytes(3 * size) }]);
      for (let length = 1; length <= 4 * size; length++)
        call([{ from: 0, trafficClass: 0, size: 0, bytes: bytes(length) }]);
    }
  });

  /** For each run of these sizes and lengths, one a call: whether its first frame lies where the kernel put it. */
  function inPlace(messages: ReceiveMessages, memory: Memory, runs: readonly (readonly [number, number])[]): boolean[] {
    return runs.map(([size, count]) => {
      messages.prepare();
      deliver(memory, messages, [{ from: 0, trafficClass: 0, size, bytes: new Uint8Array(size * count) }]);
      messages.take(1);
      const vector = pointer(memory.view(pointer(memory.view(messages.address, 64), 16), 16), 0);
      const payload = memory.at(vector, size).byteOffset;
      return (messages.starts[0] ?? 0) + 48 === payload;
    });
  }

  it('copies no run of data because of acknowledgements, responses and first packets between', () => {
    const { memory, messages } = make();
    const sizes: readonly (readonly [number, number])[] = [
      [4128, 2],
      [4112, 15],
      [20, 3],
      [4112, 15],
      [36, 14],
    ];
    const runs = [...sizes.slice(1), ...sizes, ...sizes];
    expect(inPlace(messages, memory, runs)).toEqual(runs.map(([size]) => size === 4112));
  });

  it('has vectors for another size once that is most of what comes, small or large', () => {
    const { memory, messages } = make();
    const small = Array.from({ length: 20 }, () => [100, 64] as const);
    const seen = inPlace(messages, memory, [[4112, 15], [4112, 15], ...small, [36, 2], ...small]);
    // 64 KiB of the one are outweighed by 64 KiB of the other, in runs of 6,400 bytes.
    expect(seen.indexOf(true, 2)).toBe(2 + 11);
    expect(seen.slice(2 + 11).filter((there) => !there)).toHaveLength(1);
    const first = [4128, 15] as const;
    const fresh = make();
    expect(inPlace(fresh.messages, fresh.memory, [first, [36, 14], first])).toEqual([false, false, true]);
    expect(inPlace(messages, memory, [first, first, [36, 14], first])).toEqual([false, false, false, true]);
  });

  it('tells its own port on the wire as 4791', () => {
    const memory = new Memory();
    const messages = new ReceiveMessages(new UdpPeers(LOCAL), 0xc0_01, 4112, memory.addressOf);
    messages.prepare();
    const bytes = new Uint8Array(32);
    deliver(memory, messages, [
      { from: 0, trafficClass: 0, size: 0, bytes },
      { from: 1, trafficClass: 0, size: 0, bytes },
    ]);
    messages.take(2);
    expect([0, 1].map((i) => messages.view.getUint16((messages.starts[i] ?? 0) + 40))).toEqual([0xc0_00, 4791]);
  });

  it('stays inside its memory whatever the kernel reports', () => {
    const { memory, messages } = make();
    const nonsense = fc.record({
      length: fc.oneof(fc.nat(70_000), fc.constant(0xff_ff_ff_ff)),
      control: fc.uint8Array({ minLength: 64, maxLength: 64 }),
      controlLength: fc.oneof(fc.nat(80), fc.constant(0xff_ff_ff_ff)),
      size: fc.option(fc.oneof(fc.integer({ min: 1, max: 70_000 }), fc.integer())),
    });
    fc.assert(
      fc.property(fc.array(nonsense, { minLength: 1, maxLength: MAX_MESSAGES }), (all) => {
        messages.prepare();
        for (const [index, { length, control, controlLength, size }] of all.entries()) {
          const head = memory.view(messages.address + index * 64, 64);
          const words = memory.view(pointer(head, 32), 64);
          memory.at(pointer(head, 32), 64).set(control);
          if (size !== null) {
            words.setInt32(0, 20, true);
            words.setInt32(8, 17, true);
            words.setInt32(12, 104, true);
            words.setInt32(16, size, true);
          }
          head.setUint32(40, controlLength, true);
          head.setUint32(56, length, true);
        }
        messages.take(all.length);
        expect(messages.count).toBeLessThanOrEqual(messages.starts.length);
        for (let i = 0; i < messages.count; i++) {
          expect(messages.starts[i]).toBeGreaterThanOrEqual(0);
          expect(messages.lengths[i]).toBeGreaterThanOrEqual(48);
          expect((messages.starts[i] ?? 0) + (messages.lengths[i] ?? 0)).toBeLessThanOrEqual(messages.bytes.length);
        }
      }),
    );
  });
});
