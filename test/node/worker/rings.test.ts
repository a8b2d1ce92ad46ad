/**
 * Goal: what goes through shared memory comes out as it went in, in order, and never overwrites what was not taken.
 * Method: both ends of a ring in one thread, random sequences of writing and taking, counters near their wrap.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../../packets/errors.ts';
import {
  CompletionReader,
  CompletionWriter,
  completionRingMemory,
  NotifyMode,
} from '../../../src/node/worker/completion-ring.ts';
import { makeControl, Word } from '../../../src/node/worker/control.ts';
import { PostReader, PostWriter } from '../../../src/node/worker/post-ring.ts';
import { QpStatus, STATUS_BYTES } from '../../../src/node/worker/qp-status.ts';
import { SRQ_STATUS_BYTES, SrqStatus } from '../../../src/node/worker/srq-status.ts';
import { AddressHandle } from '../../../transport/address-handle.ts';
import { MemoryRegion, ProtectionDomain } from '../../../transport/memory.ts';
import { QpState } from '../../../transport/qp-state.ts';
import { SharedReceiveQueue } from '../../../transport/srq.ts';
import { type RecvWr, type SendWr, WcStatus, WorkCompletion, WrOpcode } from '../../../transport/work.ts';

const REGIONS = [1, 2, 3].map((key) => {
  return new MemoryRegion(new ProtectionDomain(1), new Uint8Array(1000 * key), key << 8, { access: 0, iova: 0n });
});
const DEAD = new MemoryRegion(new ProtectionDomain(1), new Uint8Array(0), 0, { access: 0, iova: 0n });
const HANDLES = [1, 2].map(() => new AddressHandle(new ProtectionDomain(1), undefined));
const NAMES = { keyOf: (mr: MemoryRegion) => mr.rkey, ahOf: (ah: AddressHandle) => 1 + HANDLES.indexOf(ah) };

/** A request with nothing left to default, as a plain value that can be compared. */
function plain(qp: number, wr: SendWr | RecvWr, shared = false) {
  const sges = (wr.sges ?? []).map(({ mr, offset = 0, length = Math.max(0, mr.length - offset) }) => {
    return { key: mr.rkey, offset, length };
  });
  if (!('opcode' in wr)) return { qp, shared, wrId: wr.wrId, sges };
  const { wrId, opcode, inline, signaled = true, fence = false, solicited = false } = wr;
  const { rkey = 0, immData = 0, invalidateRkey = 0, remoteAddr = 0n, compareAdd = 0n, swap = 0n } = wr;
  const { ah, remoteQpn = 0, remoteQkey = 0x80_00_00_00, xrcRemoteSrqn = 0 } = wr;
  const bytes = inline === undefined ? undefined : [...inline];
  const numbers = { rkey, immData, invalidateRkey, remoteAddr, compareAdd, swap };
  const to = { ah: ah && HANDLES.indexOf(ah), remoteQpn, remoteQkey, xrcRemoteSrqn };
  return { qp, wrId, opcode, inline: bytes, signaled, fence, solicited, sges, ...numbers, ...to };
}

class Taken {
  readonly all: unknown[] = [];

  send(qp: number, wr: SendWr): void {
    this.all.push(plain(qp, wr));
  }

  recv(qp: number, { wrId, sges }: RecvWr): void {
    this.all.push(plain(qp, { wrId, sges: sges ?? [] }));
  }

  srqRecv(srqn: number, { wrId, sges }: RecvWr): void {
    this.all.push(plain(srqn, { wrId, sges: sges ?? [] }, true));
  }

  ah(handle: number): AddressHandle | undefined {
    return HANDLES[handle - 1];
  }

  region(key: number): MemoryRegion {
    return REGIONS.find((mr) => mr.rkey === key) ?? DEAD;
  }
}

function write(writer: PostWriter, queue: number, wr: SendWr | RecvWr, shared: boolean): boolean {
  if ('opcode' in wr) return writer.send(queue, wr, NAMES);
  return shared ? writer.srqRecv(queue, wr, NAMES) : writer.recv(queue, wr, NAMES);
}

const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const defined = { requiredKeys: [] };
const sges = fc.array(
  fc.record({ mr: fc.constantFrom(...REGIONS), offset: fc.nat(3000), length: fc.nat() }, { requiredKeys: ['mr'] }),
  { maxLength: 32 },
);
const flags = { signaled: fc.boolean(), fence: fc.boolean(), solicited: fc.boolean() };
const numbers = { rkey: u32, immData: u32, invalidateRkey: u32, remoteAddr: u64, compareAdd: u64, swap: u64 };
const to = { ah: fc.constantFrom(...HANDLES), remoteQpn: u32, remoteQkey: u32, xrcRemoteSrqn: u32 };
const sends = fc
  .tuple(
    fc.record({ wrId: fc.maxSafeInteger(), opcode: fc.constantFrom(...Object.values(WrOpcode)) }),
    fc.record({ ...flags, ...numbers, ...to, sges, inline: fc.uint8Array({ maxLength: 512 }) }, defined),
  )
  .map(([needed, more]): SendWr => ({ ...needed, ...more }));
const recvs = fc.record(
  { wrId: fc.maxSafeInteger(), sges, shared: fc.boolean() },
  { requiredKeys: ['wrId', 'shared'] },
);
const steps = fc.array(fc.oneof(sends, recvs, fc.constant('take' as const)), { maxLength: 60 });

describe('the ring of posts', () => {
  it('hands over every request as it was posted, in order, over many turns of the ring', () => {
    const control = makeControl();
    const writer = new PostWriter(control);
    const reader = new PostReader(control);
    fc.assert(
      fc.property(steps, u32, (list, qp) => {
        const taken = new Taken();
        const expected: unknown[] = [];
        for (const step of list) {
          if (step === 'take') reader.drain(taken);
          else {
            const shared = 'shared' in step && step.shared;
            if (write(writer, qp, step, shared)) expected.push(plain(qp, step, shared));
          }
        }
        reader.drain(taken);
        expect(taken.all).toEqual(expected);
        expect([reader.empty, reader.drain(taken)]).toEqual([true, false]);
      }),
    );
  });

  it('takes no more than it holds, nor what it could never hold', () => {
    const control = makeControl();
    const writer = new PostWriter(control);
    const reader = new PostReader(control);
    const taken = new Taken();
    for (let round = 0; round < 3; round++) {
      let posted = 0;
      while (writer.send(7, { wrId: posted, opcode: WrOpcode.Send, inline: new Uint8Array(100) }, NAMES)) posted += 1;
      expect(posted).toBeGreaterThan(1000);
      taken.all.length = 0;
      reader.drain(taken);
      expect(taken.all.map((wr) => (wr as { wrId: number }).wrId)).toEqual(Array.from({ length: posted }, (_, i) => i));
    }
    expect(writer.send(7, { wrId: 1, opcode: WrOpcode.Send, inline: new Uint8Array(1 << 20) }, NAMES)).toBe(false);
    expect(reader.empty).toBe(true);
  });
});

describe('a ring of posts that no writer writes', () => {
  /** Three requests, then `change` of a 32-bit word of the ring, or of the tail. */
  function spoiled(change: (cells: Uint32Array, words: Int32Array) => void) {
    const control = makeControl();
    const writer = new PostWriter(control);
    const [mr = DEAD] = REGIONS;
    const wr = { wrId: 1, opcode: WrOpcode.Send, sges: [{ mr }], inline: new Uint8Array(20) };
    for (let i = 0; i < 3; i++) writer.send(5, wr, NAMES);
    change(new Uint32Array(control.posts), new Int32Array(control.words));
    return new PostReader(control);
  }

  it.each<[string, (cells: Uint32Array, words: Int32Array) => void]>([
    ['a record of no cells, which would be read infinitely', (cells) => cells.set([0], 0)],
    ['a record beyond the tail', (cells) => cells.set([1000], 0)],
    ['a record of a kind that does not exist', (cells) => cells.set([99], 1)],
    ['more pieces than its record holds', (cells) => cells.set([0x7f_ff_ff_ff], 3)],
    ['more inline bytes than its record holds', (cells) => cells.set([1000], 11)],
    ['a tail further ahead than the ring is long', (_, words) => words.set([1 << 20], Word.PostTail)],
    ['a tail behind the head', (_, words) => words.set([-5], Word.PostTail)],
  ])('is refused as an error of ours: %s', (_, change) => {
    expect(() => spoiled(change).drain(new Taken())).toThrow(InvariantError);
  });
});

describe('a completion queue in shared memory', () => {
  it('with positions that no other side writes is an error of ours, and no work without end', () => {
    const memory = completionRingMemory(8);
    const writer = new CompletionWriter(8, memory);
    const reader = new CompletionReader(8, memory);
    const [tail, head] = [0, 1];
    const words = new Int32Array(memory);
    words[tail] = 1000;
    expect(() => reader.poll(new WorkCompletion())).toThrow(InvariantError);
    words[head] = -1000;
    expect(() => writer.moveTo(16, completionRingMemory(16))).toThrow(InvariantError);
  });

  it('holds as many as its capacity, whatever the power of two beneath', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.array(fc.nat(8), { maxLength: 60 }), (capacity, takes) => {
        const memory = completionRingMemory(capacity);
        const writer = new CompletionWriter(capacity, memory);
        const reader = new CompletionReader(capacity, memory);
        const wc = new WorkCompletion();
        let written = 0;
        let read = 0;
        for (const take of takes) {
          for (; !writer.full; written++) {
            Object.assign(wc, { wrId: written, byteLen: 2 ** 31, immData: 2 ** 32 - 1, qpn: written, solicited: true });
            writer.write(wc);
          }
          // What was not published is not there.
          expect(reader.length).toBeLessThanOrEqual(capacity);
          writer.publish(false);
          expect([reader.length, writer.length]).toEqual([capacity, capacity]);
          for (let i = 0; i < take && reader.poll(wc); i++, read++) {
            expect(wc).toMatchObject({
              wrId: read,
              byteLen: 2 ** 31,
              immData: 2 ** 32 - 1,
              qpn: read,
              solicited: true,
            });
          }
        }
        while (reader.poll(wc)) read += 1;
        expect(read).toBe(written);
      }),
    );
  });

  it('keeps its entries, and its counts, when it moves to other memory', () => {
    const step = fc.oneof(
      fc.record({ write: fc.nat(20) }),
      fc.record({ take: fc.nat(20) }),
      fc.record({ room: fc.integer({ min: 1, max: 40 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (list) => {
        const memory = completionRingMemory(8);
        const writer = new CompletionWriter(8, memory);
        const reader = new CompletionReader(8, memory);
        const wc = new WorkCompletion();
        let written = 0;
        let read = 0;
        for (const one of list) {
          if ('write' in one) {
            for (let i = 0; i < one.write && !writer.full; i++, written++) {
              Object.assign(wc, {
                wrId: written,
                srcQpn: written,
                grh: written % 3 === 0,
                ipVersion: [0, 4, 6][written % 3],
                solicited: written % 2 === 0,
              });
              writer.write(wc);
            }
            writer.publish(false);
          } else if ('take' in one) {
            for (let i = 0; i < one.take && reader.poll(wc); i++, read++)
              expect([wc.wrId, wc.srcQpn, wc.grh, wc.ipVersion, wc.solicited]).toEqual([
                ...[read, read, read % 3 === 0, [0, 4, 6][read % 3], read % 2 === 0],
              ]);
          } else if (one.room >= writer.length) {
            const moved = completionRingMemory(one.room);
            writer.moveTo(one.room, moved);
            reader.moveTo(one.room, moved);
          }
          expect([writer.length, reader.length]).toEqual([written - read, written - read]);
          expect([reader.count(false), reader.count(true)]).toEqual([written, Math.ceil(written / 2)]);
        }
      }),
    );
  });

  it('tells who waits for solicited or failed entries of these alone', () => {
    const memory = completionRingMemory(8);
    const [writer, reader] = [new CompletionWriter(8, memory), new CompletionReader(8, memory)];
    const told = (more: Partial<WorkCompletion>) => {
      writer.write(Object.assign(new WorkCompletion(), more));
      return writer.publish(false);
    };
    reader.want(NotifyMode.Solicited);
    expect([told({}), told({ solicited: true }), told({ solicited: true })]).toEqual([false, true, false]);
    reader.want(NotifyMode.Solicited);
    expect([told({}), told({ status: WcStatus.WrFlushErr })]).toEqual([false, true]);
    reader.want(NotifyMode.Any | NotifyMode.Solicited);
    expect([told({}), told({ solicited: true }), reader.count(true)]).toEqual([true, false, 4]);
    reader.want(NotifyMode.Solicited);
    expect(writer.publish(true)).toBe(true);
  });

  it('tells who wants to be told, once, unless something is there already', () => {
    const memory = completionRingMemory(4);
    const [writer, reader] = [new CompletionWriter(4, memory), new CompletionReader(4, memory)];
    expect(writer.publish(false)).toBe(false);
    expect(reader.want(NotifyMode.Next)).toBe(false);
    writer.write(new WorkCompletion());
    expect([writer.publish(false), writer.publish(false)]).toEqual([true, false]);
    expect([reader.want(NotifyMode.Next), reader.overrun]).toEqual([true, false]);
    writer.publish(true);
    expect(reader.overrun).toBe(true);
  });
});

describe('the status of a queue pair', () => {
  it('lets nothing pass that may be refused, or completes at once', () => {
    const status = new QpStatus(new SharedArrayBuffer(STATUS_BYTES));
    const { Reset, Init, Rtr, Rts, Sqd, Sqe, Error: Err } = QpState;
    const passing = [Reset, Init, Rtr, Rts, Sqd, Sqe, Err].map((state) => {
      status.update(state, 0, 0);
      return [status.takesSend(0, 1), status.takesRecv(0, 1)];
    });
    const [no, recvOnly, both] = [
      [false, false],
      [false, true],
      [true, true],
    ];
    expect(passing).toEqual([no, recvOnly, recvOnly, both, both, recvOnly, no]);
  });

  it('counts room over the wrap of its counters', () => {
    const status = new QpStatus(new SharedArrayBuffer(STATUS_BYTES));
    const posted = 2 ** 32 + 3;
    status.update(QpState.Rts, posted - 4, posted - 2);
    expect([status.takesSend(posted, 4), status.takesSend(posted, 5)]).toEqual([false, true]);
    expect([status.takesRecv(posted, 2), status.takesRecv(posted, 3)]).toEqual([false, true]);
  });
});

describe('the status of a shared receive queue', () => {
  it('counts room over the wrap of its counter, and lets nothing pass that a failed queue refuses', () => {
    const status = new SrqStatus(new SharedArrayBuffer(SRQ_STATUS_BYTES));
    const core = new SharedReceiveQueue({ srqn: 1, pd: new ProtectionDomain(1), maxWr: 3, maxSge: 1 }, []);
    for (const wrId of [1, 2]) core.post({ wrId });
    core.modify({ limit: 2 }, 3);
    const posted = 2 ** 32 + 1;
    status.update(core, posted);
    expect([status.length(posted), status.length(posted + 1), status.maxWr, status.limit]).toEqual([2, 3, 3, 2]);
    expect([status.takes(posted), status.takes(posted + 1)]).toEqual([true, false]);
    core.fail();
    status.update(core, posted);
    expect(status.takes(posted)).toBe(false);
  });
});
