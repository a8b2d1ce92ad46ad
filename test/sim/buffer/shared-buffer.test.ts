/**
 * Goal: every rule of a switch's packet memory (ref:dcqcn#4), and that memory which is sized for it never loses a
 * lossless frame. Method: each rule by hand in round numbers; then random arrivals and departures against the sums that
 * must hold, and senders who stop as late as a link allows.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RoceError } from '../../../packets/errors.ts';
import { losslessHeadroomBytes, SharedBuffer, type SharedBufferOptions } from '../../../src/sim/buffer/index.ts';
import { BYTE_RATE_BPS, PAUSE_FRAME_BYTES, runUpstream } from './upstream.ts';

const LOSSLESS = 3;
const LOSSY = 0;

/** Two ports, one lossless priority; a pool of 8000, 1000 of reserve and 2000 of headroom for each port. */
function roundNumbers(options: Partial<SharedBufferOptions> = {}): SharedBuffer {
  return new SharedBuffer({
    bytes: 14_000,
    ports: 2,
    losslessPriorities: 1 << LOSSLESS,
    reserveBytes: 1000,
    xonOffsetBytes: 300,
    headroomBytes: [2000, 2000],
    pfcShift: [2, 1],
    ...options,
  });
}

/** Admits `count` frames of 100 bytes from port 0 to port 1; the number that went in. */
function fill(buffer: SharedBuffer, count: number, priority = LOSSLESS, ingress = 0): number {
  let admitted = 0;
  for (let i = 0; i < count; i++) if (buffer.admit(ingress, 1, priority, 100)) admitted++;
  return admitted;
}

function drain(buffer: SharedBuffer, count: number, priority = LOSSLESS, ingress = 0): void {
  for (let i = 0; i < count; i++) buffer.release(ingress, 1, priority, 100);
}

const parts = (buffer: SharedBuffer, ingress = 0) => [
  buffer.reservedBytesOf(ingress, LOSSLESS),
  buffer.sharedBytesOf(ingress, LOSSLESS),
  buffer.headroomBytesOf(ingress, LOSSLESS),
];

describe('lossless frames', () => {
  it('take the reserve first, which costs the others nothing', () => {
    const buffer = roundNumbers();
    expect(fill(buffer, 10)).toBe(10);
    expect(parts(buffer)).toEqual([1000, 0, 0]);
    expect([buffer.usedBytes, buffer.sharedBytes]).toEqual([1000, 0]);
    expect(buffer.thresholdBytes(0)).toBe(8000 >> 2);
    expect(buffer.takePause(0, LOSSLESS)).toBe(false);
  });

  it('take the pool next, up to a threshold that shrinks as the pool fills, for all ports', () => {
    const buffer = roundNumbers();
    fill(buffer, 20);
    expect(parts(buffer)).toEqual([1000, 1000, 0]);
    expect([buffer.thresholdBytes(0), buffer.thresholdBytes(1)]).toEqual([7000 >> 2, 7000 >> 1]);
  });

  it('count what goes beyond the reserve only, when one frame takes of both', () => {
    const buffer = roundNumbers();
    buffer.admit(0, 1, LOSSLESS, 900);
    buffer.admit(0, 1, LOSSLESS, 150);
    expect(parts(buffer)).toEqual([1000, 50, 0]);
    expect(buffer.sharedBytes).toBe(50);
  });

  it('have their sender stopped once, as soon as their share reaches the threshold', () => {
    const buffer = roundNumbers();
    // (8000 - s) >> 2 <= s from s = 1600 on.
    fill(buffer, 10 + 15);
    expect(buffer.takePause(0, LOSSLESS)).toBe(false);
    fill(buffer, 1);
    expect(buffer.sharedBytesOf(0, LOSSLESS)).toBe(1600);
    expect(buffer.thresholdBytes(0)).toBe(1600);
    expect([buffer.takePause(0, LOSSLESS), buffer.takePause(0, LOSSLESS)]).toEqual([true, false]);
    expect(buffer.isPausing(0, LOSSLESS)).toBe(true);
    expect(buffer.isPausing(1, LOSSLESS)).toBe(false);
    expect(buffer.counters.pauses).toBe(1);
  });

  it('go to headroom beyond the threshold, and are dropped only when that is full', () => {
    const buffer = roundNumbers();
    fill(buffer, 26);
    expect(fill(buffer, 20)).toBe(20);
    expect(parts(buffer)).toEqual([1000, 1600, 2000]);
    expect(buffer.counters.losslessDrops).toBe(0);
    expect(fill(buffer, 1)).toBe(0);
    expect(buffer.counters).toMatchObject({ losslessDrops: 1, losslessDroppedBytes: 100, peakHeadroomBytes: 2000 });
    expect(buffer.usedBytes).toBe(4600);
    // What one port has used up is its own affair.
    expect(fill(buffer, 10, LOSSLESS, 1)).toBe(10);
  });

  it('have their sender stopped when headroom is in use although the share is below the threshold', () => {
    const buffer = roundNumbers();
    fill(buffer, 24);
    expect(buffer.thresholdBytes(0)).toBe(1650);
    // 1400 + 300 would be beyond it, so the frame goes to headroom whole.
    buffer.admit(0, 1, LOSSLESS, 300);
    expect(parts(buffer)).toEqual([1000, 1400, 300]);
    expect(buffer.takePause(0, LOSSLESS)).toBe(true);
  });

  it('let their sender go on once, when headroom is empty and the share is 3 KiB (here 300 bytes) below the threshold', () => {
    const buffer = roundNumbers();
    fill(buffer, 30);
    expect(parts(buffer)).toEqual([1000, 1600, 400]);
    buffer.takePause(0, LOSSLESS);
    // Headroom is given back first.
    drain(buffer, 4);
    expect(parts(buffer)).toEqual([1000, 1600, 0]);
    expect(buffer.takeResume(0, LOSSLESS)).toBe(false);
    // s + 300 <= (8000 - s) >> 2 from s = 1360 down.
    drain(buffer, 2);
    expect(buffer.takeResume(0, LOSSLESS)).toBe(false);
    drain(buffer, 1);
    expect([buffer.takeResume(0, LOSSLESS), buffer.takeResume(0, LOSSLESS)]).toEqual([true, false]);
    expect([buffer.isPausing(0, LOSSLESS), buffer.counters.resumes]).toEqual([false, 1]);
  });

  it('never let a sender go on who was not stopped', () => {
    const buffer = roundNumbers();
    fill(buffer, 1);
    drain(buffer, 1);
    expect(buffer.takeResume(0, LOSSLESS)).toBe(false);
    expect(buffer.counters.resumes).toBe(0);
  });

  it('let a sender go on when nothing of it is left in the pool, however small the threshold is', () => {
    const buffer = roundNumbers({ xonOffsetBytes: 9000 });
    fill(buffer, 26);
    buffer.takePause(0, LOSSLESS);
    drain(buffer, 15);
    expect([buffer.sharedBytesOf(0, LOSSLESS), buffer.takeResume(0, LOSSLESS)]).toEqual([100, false]);
    drain(buffer, 1);
    expect([buffer.sharedBytesOf(0, LOSSLESS), buffer.takeResume(0, LOSSLESS)]).toEqual([0, true]);
  });

  it('obey a threshold that does not move, when one is given', () => {
    const buffer = roundNumbers({ staticXoffBytes: 700 });
    fill(buffer, 16);
    expect([buffer.thresholdBytes(0), buffer.thresholdBytes(1)]).toEqual([700, 700]);
    expect(buffer.takePause(0, LOSSLESS)).toBe(false);
    fill(buffer, 1);
    expect(buffer.takePause(0, LOSSLESS)).toBe(true);
    expect(fill(buffer, 21)).toBe(20);
    drain(buffer, 20 + 2);
    expect(buffer.takeResume(0, LOSSLESS)).toBe(false);
    drain(buffer, 1);
    expect([parts(buffer), buffer.takeResume(0, LOSSLESS)]).toEqual([[1000, 400, 0], true]);
  });

  it('do not overdraw the pool under a fixed threshold larger than it', () => {
    const buffer = roundNumbers({ staticXoffBytes: 20_000 });
    expect(fill(buffer, 200)).toBe(10 + 80 + 20);
    expect(parts(buffer)).toEqual([1000, 8000, 2000]);
  });

  it('of two priorities have a reserve and headroom each, and are stopped apart', () => {
    const buffer = roundNumbers({ bytes: 20_000, losslessPriorities: (1 << 3) | (1 << 4) });
    expect(buffer.poolBytes).toBe(8000);
    fill(buffer, 40, 3);
    expect([buffer.takePause(0, 4), buffer.takePause(0, 3)]).toEqual([false, true]);
    expect(fill(buffer, 10, 4)).toBe(10);
    expect([buffer.takePause(0, 4), buffer.isPausing(0, 4)]).toEqual([false, false]);
  });
});

describe('lossy frames', () => {
  it('wait in their egress queue up to alpha times what is free, and are dropped at the tail', () => {
    const buffer = roundNumbers();
    // q + 100 <= 8000 - q up to q = 3900.
    expect(fill(buffer, 100, LOSSY)).toBe(40);
    expect([buffer.lossyBytesOf(1, LOSSY), buffer.sharedBytes, buffer.usedBytes]).toEqual([4000, 4000, 4000]);
    expect(buffer.counters).toMatchObject({ lossyDrops: 60, lossyDroppedBytes: 6000, losslessDrops: 0, pauses: 0 });
    // Another queue gets its part of the rest: q + 100 <= 4000 - q.
    expect(fill(buffer, 100, LOSSY + 1)).toBe(20);
  });

  it('have a larger or smaller limit with another alpha, and never more than the pool', () => {
    expect(fill(roundNumbers({ lossyAlpha: 1 / 3 }), 100, LOSSY)).toBe(20);
    const buffer = roundNumbers({ lossyAlpha: 1e9 });
    buffer.admit(0, 1, LOSSY, 50);
    expect(fill(buffer, 100, LOSSY)).toBe(79);
    expect(buffer.sharedBytes).toBe(7950);
  });

  it('never stop anybody', () => {
    const buffer = roundNumbers();
    fill(buffer, 100, LOSSY);
    expect([buffer.takePause(0, LOSSY), buffer.takeResume(0, LOSSY)]).toEqual([false, false]);
  });

  it('leave lossless frames their reserve and headroom', () => {
    const buffer = roundNumbers({ lossyAlpha: 1e9 });
    fill(buffer, 100, LOSSY);
    expect(fill(buffer, 100)).toBe(10 + 20);
    expect(parts(buffer)).toEqual([1000, 0, 2000]);
  });

  it('have the whole memory when no priority is lossless', () => {
    const buffer = roundNumbers({ losslessPriorities: 0, lossyAlpha: 1e9 });
    expect(buffer.poolBytes).toBe(14_000);
    expect(fill(buffer, 200)).toBe(140);
    expect([buffer.peakBytes, buffer.counters.peakSharedBytes]).toEqual([14_000, 14_000]);
  });
});

describe('the options of a buffer', () => {
  it.each<[string, Partial<SharedBufferOptions>, RegExp]>([
    ['no memory', { bytes: 0 }, /bytes must be/],
    ['memory beyond 32 bits', { bytes: 2 ** 31 }, /bytes must be/],
    ['no port', { ports: 0, headroomBytes: [], pfcShift: [] }, /ports/],
    ['nine priorities', { losslessPriorities: 0x1_00 }, /losslessPriorities/],
    ['a negative reserve', { reserveBytes: -1 }, /reserveBytes/],
    ['a fraction', { xonOffsetBytes: 0.5 }, /xonOffsetBytes/],
    ['a negative static threshold', { staticXoffBytes: -1 }, /staticXoffBytes/],
    ['headroom for other ports', { headroomBytes: [1] }, /headroomBytes must be 2/],
    ['headroom that is not a number', { headroomBytes: [1, Number.NaN] }, /headroomBytes/],
    ['shifts for other ports', { pfcShift: [1, 1, 1] }, /pfcShift must be 2/],
    ['a shift beyond 30', { pfcShift: [1, 31] }, /pfcShift/],
    ['an alpha of 0', { lossyAlpha: 0 }, /lossyAlpha/],
    ['less memory than is reserved', { bytes: 5999 }, /5999 are fewer .* 6000/],
  ])('are refused with %s', (_, options, reason) => {
    expect(() => roundNumbers(options)).toThrow(RoceError);
    expect(() => roundNumbers(options)).toThrow(reason);
  });

  it('default to 4 KiB of reserve and 3 KiB between stop and go', () => {
    const buffer = new SharedBuffer({
      bytes: 100_000,
      ports: 1,
      losslessPriorities: 1 << LOSSLESS,
      headroomBytes: [10_000],
      pfcShift: [0],
    });
    expect(buffer.poolBytes).toBe(100_000 - 10_000 - 4096);
    // The share reaches what is free: 42,952 of 85,904.
    buffer.admit(0, 0, LOSSLESS, 4096 + 42_952);
    expect(buffer.takePause(0, LOSSLESS)).toBe(true);
    // s + 3072 <= 85,904 - s from s = 41,416 down.
    buffer.release(0, 0, LOSSLESS, 42_952 - 41_417);
    expect(buffer.takeResume(0, LOSSLESS)).toBe(false);
    buffer.release(0, 0, LOSSLESS, 1);
    expect(buffer.takeResume(0, LOSSLESS)).toBe(true);
  });
});

const PORTS = 3;
const optionsOf = fc.record({
  bytes: fc.integer({ min: 60_000, max: 120_000 }),
  ports: fc.constant(PORTS),
  losslessPriorities: fc.constantFrom(0, 1 << LOSSLESS, (1 << LOSSLESS) | 1),
  reserveBytes: fc.integer({ min: 0, max: 4000 }),
  xonOffsetBytes: fc.integer({ min: 0, max: 4000 }),
  headroomBytes: fc.array(fc.integer({ min: 0, max: 6000 }), { minLength: PORTS, maxLength: PORTS }),
  pfcShift: fc.array(fc.integer({ min: 0, max: 4 }), { minLength: PORTS, maxLength: PORTS }),
  lossyAlpha: fc.constantFrom(0.125, 1, 8),
});
const step = fc.record({
  leaves: fc.boolean(),
  ingress: fc.nat({ max: PORTS - 1 }),
  egress: fc.nat({ max: PORTS - 1 }),
  priority: fc.constantFrom(0, 1, LOSSLESS),
  bytes: fc.integer({ min: 60, max: 4200 }),
  which: fc.nat(),
});
type Step = { ingress: number; egress: number; priority: number; bytes: number };

/** The sums that hold at all times, and what a full walk over all queues gives. */
function checkSums(buffer: SharedBuffer, inside: readonly Step[], options: SharedBufferOptions): void {
  let pool = 0;
  let used = 0;
  for (let port = 0; port < PORTS; port++) {
    for (let priority = 0; priority < 8; priority++) {
      const shared = buffer.sharedBytesOf(port, priority) + buffer.lossyBytesOf(port, priority);
      const headroom = buffer.headroomBytesOf(port, priority);
      const reserved = buffer.reservedBytesOf(port, priority);
      expect(headroom).toBeLessThanOrEqual(options.headroomBytes[port] ?? 0);
      pool += shared;
      used += shared + headroom + reserved;
    }
  }
  expect(buffer.usedBytes).toBe(inside.reduce((sum, { bytes }) => sum + bytes, 0));
  expect(used).toBe(buffer.usedBytes);
  expect(pool).toBe(buffer.sharedBytes);
  expect(buffer.sharedBytes).toBeLessThanOrEqual(buffer.poolBytes);
  expect(buffer.usedBytes).toBeLessThanOrEqual(options.bytes);
  expect(buffer.peakBytes).toBeGreaterThanOrEqual(buffer.usedBytes);
}

describe('whatever comes and goes', () => {
  it('the parts add up, the memory is never overdrawn, stop and go alternate, and in the end nothing is left', () => {
    fc.assert(
      fc.property(optionsOf, fc.array(step, { maxLength: 300 }), (options, steps) => {
        const buffer = new SharedBuffer(options);
        const inside: Step[] = [];
        const told = new Map<string, string>();
        const tell = (word: string, { ingress, priority }: Step) => {
          const key = `${ingress}/${priority}`;
          expect(told.get(key) ?? 'go').not.toBe(word);
          expect(buffer.isLossless(priority)).toBe(true);
          told.set(key, word);
        };
        const arrive = (one: Step) => {
          const { ingress, egress, priority, bytes } = one;
          if (!buffer.admit(ingress, egress, priority, bytes)) return;
          inside.push(one);
          if (buffer.takePause(ingress, priority)) tell('stop', one);
          // Whoever has headroom in use or reached the threshold has been told.
          const over =
            buffer.headroomBytesOf(ingress, priority) > 0 ||
            buffer.sharedBytesOf(ingress, priority) >= buffer.thresholdBytes(ingress);
          if (over && buffer.isLossless(priority)) expect(buffer.isPausing(ingress, priority)).toBe(true);
        };
        const leave = (one: Step) => {
          buffer.release(one.ingress, one.egress, one.priority, one.bytes);
          if (buffer.takeResume(one.ingress, one.priority)) tell('go', one);
        };
        for (const one of steps) {
          const [leaving] = one.leaves && inside.length > 0 ? inside.splice(one.which % inside.length, 1) : [];
          if (leaving === undefined) arrive(one);
          else leave(leaving);
          checkSums(buffer, inside, options);
        }
        while (inside.length > 0) leave(inside.pop() as Step);
        checkSums(buffer, inside, options);
        // Nobody is left waiting for a word that never comes.
        expect([...told.values()].every((word) => word === 'go')).toBe(true);
        expect(buffer.counters.pauses).toBe(buffer.counters.resumes);
      }),
    );
  });
});

describe('headroom', () => {
  const upstream = fc.record({
    senders: fc.integer({ min: 1, max: 5 }),
    delayNs: fc.constantFrom(0, 1, 100, 1000, 5000),
    maxFrameBytes: fc.constantFrom(64, 1000, 1500, 4200),
    poolBytes: fc.constantFrom(0, 3000, 20_000, 100_000),
    shift: fc.integer({ min: 0, max: 4 }),
    reserveBytes: fc.constantFrom(0, 4096),
    sizes: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 12 }),
    waits: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 7 }),
    stalls: fc.array(fc.boolean(), { minLength: 1, maxLength: 16 }),
  });

  it('of the bound loses nothing, however late senders stop within it and however the egress stalls', () => {
    let worst = 0;
    fc.assert(
      fc.property(
        upstream,
        ({ senders, delayNs, maxFrameBytes, poolBytes, shift, reserveBytes, sizes, waits, stalls }) => {
          const headroom = losslessHeadroomBytes({ rateBps: BYTE_RATE_BPS, delayNs, maxFrameBytes });
          const ports = senders + 1;
          const buffer = new SharedBuffer({
            bytes: poolBytes + ports * (headroom + reserveBytes),
            ports,
            losslessPriorities: 1 << LOSSLESS,
            reserveBytes,
            headroomBytes: new Array<number>(ports).fill(headroom),
            pfcShift: new Array<number>(ports).fill(shift),
          });
          const { told } = runUpstream(buffer, {
            senders,
            delayNs,
            frameBytes: (sender, nth) =>
              Math.ceil((sizes[(nth + sender) % sizes.length] ?? 1) * (maxFrameBytes - 60)) + 60,
            waitNs: (port, nth) => Math.floor((waits[(nth + port) % waits.length] ?? 1) * maxFrameBytes),
            drains: (now) => stalls[Math.floor(now / 5000) % stalls.length] ?? true,
            untilNs: 100_000,
          });
          expect(buffer.counters.losslessDrops).toBe(0);
          expect(buffer.usedBytes).toBe(0);
          for (const words of told) expect(words).toMatch(/^(XO)*$/);
          worst = Math.max(worst, buffer.counters.peakHeadroomBytes / headroom);
        },
      ),
    );
    // Otherwise this would say nothing.
    expect(worst).toBeGreaterThan(0.5);
  });

  it.each([0, 500, 1000])('of one byte less than the worst case loses a frame, on a link of %i ns', (delayNs) => {
    const frame = 1000;
    const drops = (headroom: number) => {
      const buffer = new SharedBuffer({
        bytes: 4 * headroom + 9 * frame,
        ports: 4,
        losslessPriorities: 1 << LOSSLESS,
        reserveBytes: 0,
        headroomBytes: new Array<number>(4).fill(headroom),
        pfcShift: [0, 0, 0, 0],
      });
      const worst = {
        delayNs,
        maxFrameBytes: frame,
        frameBytes: () => frame,
        waitNs: () => frame,
        drains: () => false,
      };
      runUpstream(buffer, { senders: 3, untilNs: 50_000, ...worst });
      expect(buffer.counters.peakHeadroomBytes).toBeLessThanOrEqual(headroom);
      return buffer.counters.losslessDrops;
    };
    // The frame that trips the threshold, one while the pause waits, one that was just begun, and what is on the wire
    // both ways.
    const worstCase = 3 * frame + 2 * delayNs;
    expect(drops(worstCase)).toBe(0);
    expect(drops(worstCase - 1)).toBeGreaterThan(0);
    const bound = losslessHeadroomBytes({ rateBps: BYTE_RATE_BPS, delayNs, maxFrameBytes: frame });
    expect(bound - worstCase).toBe(PAUSE_FRAME_BYTES);
  });
});
