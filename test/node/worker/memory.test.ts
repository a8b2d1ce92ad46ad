/**
 * Goal: memory registered with a device in a worker is one memory on both sides, for exactly as long as it is
 * registered. Method: bytes written on either side of the thread, regions over parts of a buffer, over one buffer
 * twice, and freed ones.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MemoryRegion, WcStatus, WrOpcode } from '../../../src/index.ts';
import { ALL, type Cable, connectSides, type Joined, openCable, refusal, success } from './support.ts';

let cable: Cable;
let joined: Joined;
beforeAll(async () => {
  cable = await openCable('worker');
  joined = await connectSides(cable);
});
afterAll(() => cable.close());

/** They write `bytes` into a region of ours; the status of that. */
async function write(to: MemoryRegion, bytes: readonly number[], offset = 0): Promise<number> {
  const { qp, cq } = joined.theirs;
  const remoteAddr = to.iova + BigInt(offset);
  qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaWrite, inline: Uint8Array.from(bytes), remoteAddr, rkey: to.rkey });
  return (await cq.next()).value?.status ?? -1;
}

describe('memory of a device in a worker', () => {
  it('is zeroed, shared and where it was asked to be', async () => {
    const mr = joined.ours.pd.regMr(4096, { access: ALL, iova: 0x1234_5678_9abc_def0n });
    expect(mr.bytes.buffer).toBeInstanceOf(SharedArrayBuffer);
    expect([mr.length, mr.iova, mr.access, mr.lkey === mr.rkey]).toEqual([4096, 0x1234_5678_9abc_def0n, ALL, true]);
    expect(mr.bytes.every((byte) => byte === 0)).toBe(true);
    expect(await write(mr, [1, 2, 3], 4093)).toBe(WcStatus.Success);
    expect([...mr.bytes.subarray(4090)]).toEqual([0, 0, 0, 1, 2, 3]);
    expect([mr.view.getUint8(4095), mr.valid]).toEqual([3, true]);
    joined.ours.pd.deregMr(mr);
  });

  it('may be part of a shared buffer of the application, which no peer gets beyond', async () => {
    const memory = new SharedArrayBuffer(64);
    const mr = joined.ours.pd.regMr(new Uint8Array(memory, 16, 8), { access: ALL });
    expect(await write(mr, [7, 7, 7, 7, 7, 7, 7, 7])).toBe(WcStatus.Success);
    const bytes = new Uint8Array(memory);
    expect([bytes.indexOf(7), bytes.lastIndexOf(7)]).toEqual([16, 23]);
    bytes[20] = 9;
    const { qp, cq, mr: into } = joined.theirs;
    const remote = { remoteAddr: mr.iova, rkey: mr.rkey };
    qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaRead, sges: [{ mr: into, length: 8 }], ...remote });
    await success(cq);
    expect([...into.bytes.subarray(0, 8)]).toEqual([7, 7, 7, 7, 9, 7, 7, 7]);
    joined.ours.pd.deregMr(mr);
  });

  it('may be registered twice, and with both devices', async () => {
    const bytes = new Uint8Array(new SharedArrayBuffer(16));
    const [one, two] = [1, 2].map(() => joined.ours.pd.regMr(bytes, { access: ALL }));
    const local = joined.theirs.pd.regMr(bytes, { access: ALL });
    if (one === undefined || two === undefined) throw new Error('two regions were registered');
    expect(one.rkey).not.toBe(two.rkey);
    expect([await write(one, [1]), await write(two, [2], 1)]).toEqual([WcStatus.Success, WcStatus.Success]);
    expect([...local.bytes.subarray(0, 3)]).toEqual([1, 2, 0]);
    for (const mr of [one, two]) joined.ours.pd.deregMr(mr);
    joined.theirs.pd.deregMr(local);
  });

  it('cannot be memory of one thread', () => {
    for (const bytes of [new Uint8Array(8), Buffer.alloc(8)]) {
      expect(refusal(() => joined.ours.pd.regMr(bytes))).toMatch(
        /^ERR_ROCE_ARGUMENT: this memory belongs to the thread of the application.*: register a number of bytes, or a Uint8Array over a SharedArrayBuffer$/,
      );
    }
  });

  it('that was freed takes nothing any more, and work that names it fails as it does in one thread', async () => {
    const { ours, theirs } = await connectSides(cable);
    const mr = ours.pd.regMr(8, { access: ALL });
    ours.pd.deregMr(mr);
    ours.qp.postSend({ wrId: 1, opcode: WrOpcode.Send, sges: [{ mr }] });
    expect((await ours.cq.next()).value).toMatchObject({ wrId: 1, status: WcStatus.LocProtErr });
    const other = await connectSides(cable);
    const foreign = theirs.mr;
    other.ours.qp.postSend({ wrId: 2, opcode: WrOpcode.Send, sges: [{ mr: foreign, length: 8 }] });
    expect((await other.ours.cq.next()).value).toMatchObject({ wrId: 2, status: WcStatus.LocProtErr });
    const third = await connectSides(cable);
    const { rkey, iova } = mr;
    third.theirs.qp.postSend({ wrId: 3, opcode: WrOpcode.RdmaWrite, inline: Uint8Array.of(1), rkey, remoteAddr: iova });
    expect((await third.theirs.cq.next()).value).toMatchObject({ status: WcStatus.RemAccessErr });
    expect(mr.bytes[0]).toBe(0);
  });

  it('of private data and of inline data is copied when they are handed over', async () => {
    const { ours, theirs } = await connectSides(cable);
    theirs.qp.postRecv({ wrId: 1, sges: [{ mr: theirs.mr }] });
    const inline = Uint8Array.of(1, 2, 3);
    ours.qp.postSend({ wrId: 1, opcode: WrOpcode.Send, inline });
    inline.fill(9);
    await success(theirs.cq);
    expect([...theirs.mr.bytes.subarray(0, 3)]).toEqual([1, 2, 3]);
  });
});
