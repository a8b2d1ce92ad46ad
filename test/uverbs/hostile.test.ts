/**
 * Clients that write what they like: commands of random bytes, rings of random entries whose indices jump, while
 * packets come and go. Goal: nothing throws, nothing outside of the client's memory is touched, the other client is
 * served, and all is gone with the file. Method: properties over the program of support/.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COMMANDS, Command, type CommandName } from '../../src/uverbs/abi/commands.ts';
import * as Q from '../../src/uverbs/abi/queues.ts';
import { RXE_QUEUE_BUF, RXE_SEND_WQE } from '../../src/uverbs/abi/rxe.ts';
import * as V from '../../src/uverbs/abi/verbs.ts';
import { Errno } from '../../src/uverbs/errno.ts';
import { fcRuns } from '../transport/support/peer.ts';
import { expectEmpty, makeEnds, type Pair, rdma, toRts } from './support/ends.ts';
import { fill, type MappedRing, plain } from './support/program.ts';

const RUNS = fcRuns(60);
const NAMES = Object.keys(Command) as CommandName[];

/** Small handles hit objects; the rest is anything. */
const word = fc.oneof(fc.integer({ min: 0, max: 16 }), fc.integer({ min: 0, max: 0xff_ff_ff_ff }));
const entry = fc.array(word, { minLength: 100, maxLength: 100 });
const jump = fc.record({ producer: word, consumer: word, entry, slot: fc.nat(20), what: fc.nat(3), ring: fc.nat(2) });

function scribble(ring: MappedRing, words: readonly number[], slot: number): void {
  const at = ring.slot(slot);
  for (const [i, value] of words.entries()) if (4 * i < ring.stride) ring.view.setUint32(at + 4 * i, value, true);
}

/** A send that would be right, but for what the words change in it. */
function nearMiss(pair: Pair, words: readonly number[]): Uint8Array {
  const { left, right } = pair;
  const opcode = (words[0] ?? 0) % 17;
  const sges = [{ addr: left.mr.addr, length: (words[1] ?? 0) % 9000, lkey: left.mr.lkey }];
  const wqe = pair.sendWqe({ wrId: words[2] ?? 0, opcode, flags: (words[3] ?? 0) & 0xf, sges, wr: rdma(right.mr, 0) });
  const view = new DataView(wqe.buffer);
  view.setUint32(((words[4] ?? 0) % (RXE_SEND_WQE.size / 4)) * 4, words[5] ?? 0, true);
  return wqe;
}

describe('a client that writes what it likes', () => {
  it('into its rings, at any time', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(2, 3, 4), fc.array(jump, { maxLength: 12 }), async (type, jumps) => {
        const pair = await toRts(await makeEnds({ type }));
        const { left, right, world } = pair;
        for (const { producer, consumer, entry: words, slot, what, ring } of jumps) {
          const target = [left.qp.sq, left.qp.rq ?? left.qp.sq, left.cq.ring][ring] ?? left.qp.sq;
          if (what === 0) scribble(target, words, slot);
          else if (what === 1) target.producer = producer;
          else if (what === 2) target.consumer = consumer;
          else left.qp.sq.bytes.set(nearMiss(pair, words), left.qp.sq.slot(left.qp.sq.producer));
          if (what === 3) left.qp.sq.producer = (left.qp.sq.producer + 1) & left.qp.sq.mask;
          target.view.setUint32(RXE_QUEUE_BUF.at.index_mask, producer, true);
          left.program.file.doorbell(left.qp.handle);
          world.runFor(1e5);
        }
        const before = right.program.host.memory.bytes.slice(0, 4096);
        expect(before.every((byte) => byte === 0)).toBe(true);
        expect([left.device.counters.internalErrors, right.device.counters.internalErrors]).toEqual([0, 0]);
        await expectEmpty(pair);
      }),
      { numRuns: RUNS },
    );
  });

  it('as commands', async () => {
    const command = fc.record({
      name: fc.constantFrom(...NAMES),
      extended: fc.boolean(),
      words: fc.array(word, { minLength: 60, maxLength: 60 }),
      cut: fc.nat(3),
      room: fc.nat(90),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 20 }), async (commands) => {
        const pair = await makeEnds();
        const { left, world } = pair;
        for (const { name, extended, words, cut, room } of commands) {
          const request = new Uint8Array(Math.max(0, COMMANDS[name].request - (cut === 3 ? 4 : 0)));
          const view = new DataView(request.buffer);
          for (let at = 0; at + 4 <= request.length; at += 4) view.setUint32(at, words[at / 4] ?? 0, true);
          const driver = new Uint8Array(8 * cut);
          const bytes = plain(name, request, driver, 4 * room);
          if (extended) bytes[3] = 0x80;
          const { errno } = await world.run(Promise.resolve(left.program.file.command(bytes)));
          expect(errno).toBeGreaterThanOrEqual(0);
        }
        expect(left.device.counters.internalErrors).toBe(0);
        await expectEmpty(pair);
      }),
      { numRuns: RUNS },
    );
  });

  it('as any bytes', async () => {
    const pair = await makeEnds();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const result = pair.left.program.file.command(bytes);
        expect(result instanceof Promise || result.errno > 0 || bytes.length >= 8).toBe(true);
      }),
      { numRuns: RUNS },
    );
    await expectEmpty(pair);
  });
});

describe('a producer index that jumps', () => {
  it('brings no more requests than there is room for', async () => {
    const pair = await toRts(await makeEnds());
    const { left, right } = pair;
    const { sq } = left.qp;
    const wqe = pair.sendWqe({ opcode: 0, inline: Uint8Array.of(1), wr: rdma(right.mr, 0) });
    for (let slot = 0; slot <= sq.mask; slot++) sq.bytes.set(wqe, sq.slot(slot));
    for (const producer of [5, 4, sq.mask, 1]) {
      sq.producer = producer;
      left.program.file.doorbell(left.qp.handle);
    }
    const [qp] = left.device.queuePairs;
    expect(qp?.core.sendsOutstanding).toBe(sq.mask);
    await expectEmpty(pair);
  });
});

describe('the errno of the kernel', () => {
  it('for lengths: short, long, no room, unknown commands and flags', async () => {
    const pair = await makeEnds();
    const errnoOf = async (bytes: Uint8Array): Promise<number> => (await pair.left.program.file.command(bytes)).errno;
    const pd = plain('ALLOC_PD', fill(V.ALLOC_PD, {}), new Uint8Array(0), 4);
    expect(await errnoOf(pd.slice(0, 7))).toBe(Errno.EINVAL);
    expect(await errnoOf(pd.slice(0, 8))).toBe(Errno.EINVAL);
    const short = plain('ALLOC_PD', new Uint8Array(4), new Uint8Array(0), 4);
    expect(await errnoOf(short)).toBe(Errno.ENOSPC);
    expect(await errnoOf(plain('ALLOC_PD', fill(V.ALLOC_PD, {}), new Uint8Array(0), 0))).toBe(Errno.ENOSPC);
    const unknown = pd.slice();
    unknown[0] = 39;
    expect(await errnoOf(unknown)).toBe(Errno.EOPNOTSUPP);
    const flagged = pd.slice();
    flagged[2] = 1;
    expect(await errnoOf(flagged)).toBe(Errno.EINVAL);
    await expectEmpty(pair);
  });

  it('for handles: of nobody, of another kind, of another file', async () => {
    const pair = await makeEnds();
    const { left, right } = pair;
    const { program } = left;
    expect(await program.errno('DEALLOC_PD', V.DEALLOC_PD, { pd_handle: 999 })).toBe(Errno.ENOENT);
    expect(await program.errno('DEALLOC_PD', V.DEALLOC_PD, { pd_handle: left.cq.handle })).toBe(Errno.EINVAL);
    expect(await program.errno('DEALLOC_PD', V.DEALLOC_PD, { pd_handle: left.pd })).toBe(Errno.EBUSY);
    expect(await program.errno('DESTROY_CQ', V.DESTROY_CQ, { cq_handle: left.cq.handle })).toBe(Errno.EBUSY);
    const values = { pd_handle: 999, start: left.mr.addr, hca_va: left.mr.addr, length: 8, access_flags: 1 };
    expect(await program.errno('REG_MR', V.REG_MR, values)).toBe(Errno.EINVAL);
    const query = { qp_handle: right.qp.handle + 40 };
    expect(await program.errno('QUERY_QP', Q.QUERY_QP, query)).toBe(Errno.EINVAL);
    await expectEmpty(pair);
  });

  it('for memory: an offset that differs, nothing, beyond the process, rights that contradict', async () => {
    const pair = await makeEnds();
    const { left } = pair;
    const reg = (values: Readonly<Record<string, number>>) =>
      left.program.errno('REG_MR', V.REG_MR, {
        ...{ pd_handle: left.pd, start: left.mr.addr, hca_va: left.mr.addr, length: 8, access_flags: 1, ...values },
      });
    expect(await reg({ hca_va: left.mr.addr + 1 })).toBe(Errno.EINVAL);
    expect(await reg({ length: 0 })).toBe(Errno.EINVAL);
    expect(await reg({ length: 1 << 30 })).toBe(Errno.EFAULT);
    expect(await reg({ start: 0, hca_va: 0 })).toBe(Errno.EFAULT);
    expect(await reg({ access_flags: 2 })).toBe(Errno.EINVAL);
    expect(await reg({ access_flags: 0x40 })).toBe(Errno.EINVAL);
    expect(await reg({ access_flags: 0x20 })).toBe(Errno.EOPNOTSUPP);
    expect(await reg({ access_flags: 0x10_00_01 })).toBe(0);
    await expectEmpty(pair);
  });

  it('for queue pairs: limits, types, moves, and a doorbell before RTS', async () => {
    const pair = await makeEnds();
    const { left } = pair;
    const create = (values: Readonly<Record<string, number>>, more = 32) =>
      left.program.errno(
        'CREATE_QP',
        Q.CREATE_QP,
        { pd_handle: left.pd, send_cq_handle: left.cq.handle, recv_cq_handle: left.cq.handle, qp_type: 2, ...values },
        undefined,
        more,
      );
    expect(await create({ max_send_wr: 1 << 20 })).toBe(Errno.EINVAL);
    expect(await create({ max_recv_sge: 33 })).toBe(Errno.EINVAL);
    expect(await create({ max_inline_data: 513 })).toBe(Errno.EINVAL);
    expect(await create({ qp_type: 9 })).toBe(Errno.EOPNOTSUPP);
    expect(await create({ qp_type: 8 })).toBe(Errno.EOPNOTSUPP);
    expect(await create({ qp_type: 7 })).toBe(Errno.EINVAL);
    expect(await create({}, 24)).toBe(Errno.EINVAL);
    left.program.host.room = 4096;
    expect(await create({ max_send_wr: 100 })).toBe(Errno.ENOMEM);
    const modify = (mask: number, values: Readonly<Record<string, number>>) =>
      left.program.errno('MODIFY_QP', Q.MODIFY_QP, { qp_handle: left.qp.handle, attr_mask: mask, ...values });
    expect(await modify(1, { qp_state: 3 })).toBe(Errno.EINVAL);
    expect(await modify(1, { qp_state: 9 })).toBe(Errno.EINVAL);
    expect(await modify(1 | 8, { qp_state: 1 })).toBe(Errno.EINVAL);
    expect(await modify(1 << 25, {})).toBe(Errno.EOPNOTSUPP);
    expect(await left.program.errno('POST_SEND', Q.POST_SEND, { qp_handle: left.qp.handle })).toBe(Errno.EINVAL);
    await expectEmpty(pair);
  });
});

describe('a file that is closed in the middle', () => {
  it('of traffic both ways leaves nothing, and the peer gives up after its retries', async () => {
    const pair = await toRts(await makeEnds());
    const { left, right, world } = pair;
    for (let i = 0; !left.qp.sq.full; i++)
      left.qp.sq.put(
        pair.sendWqe({
          wrId: i,
          opcode: 0,
          sges: [{ addr: left.mr.addr, length: 8000, lkey: left.mr.lkey }],
          wr: rdma(right.mr, 0),
        }),
      );
    left.program.file.doorbell(left.qp.handle);
    right.program.file.close();
    world.runFor(1e9);
    const statuses = left.program.pollAll(left.cq).map(({ status }) => status);
    expect(statuses).toContain(12);
    await expectEmpty(pair);
  });

  it('of a command that waits for a next hop', async () => {
    const pair = await makeEnds({ type: 4 });
    const { left, world } = pair;
    const attr = fill(Q.AH_ATTR, { is_global: 1, port_num: 1 });
    attr.set([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2]);
    attr[Q.GLOBAL_ROUTE.at.sgid_index] = 1;
    const creating = left.program.send('CREATE_AH', Q.CREATE_AH, { pd_handle: left.pd, attr }, undefined, 8);
    left.program.file.close();
    const { errno } = await world.run(creating);
    expect(errno).toBeGreaterThan(0);
    await expectEmpty(pair);
  });
});
