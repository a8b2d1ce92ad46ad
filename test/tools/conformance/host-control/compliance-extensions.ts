/**
 * The part of the compliance suite about what a device need not have: other services, shared queues, windows, atomics
 * and their kin.
 */
import { describe, expect, it } from 'vitest';
import type { Feature } from '../../../../tools/conformance/host-control/host-control.ts';
import { ALL, type Bench, QKEY } from './subject.ts';

/** Tests of every feature that is listed. */
export function extensionTests(at: () => Bench, features: readonly Feature[], conforms: boolean): void {
  const parts: readonly (readonly [Feature, (at: () => Bench, conforms: boolean) => void])[] = [
    ['uc', ucTests],
    ['ud', udTests],
    ['mcast', multicastTests],
    ['srq', sharedQueueTests],
    ['mw2', windowTests],
    ['atomics', atomicTests],
    ['flush', flushTests],
    ['atomic-write', atomicWriteTests],
    ['preset-msn', presetTests],
  ];
  for (const [feature, tests] of parts)
    if (features.includes(feature)) describe(`with ${feature}`, () => tests(at, conforms));
}

function ucTests(at: () => Bench): void {
  it('writes without acknowledge', async () => {
    const bench = at();
    const { left, right } = await bench.pair({ type: 'uc' });
    await bench.write(left, 0, 'abcd');
    const remote = { remoteAddr: right.mr.va, rkey: right.mr.rkey };
    await bench.call(left, 'qp.send', {
      ...{ qp: left.name, wrId: 1, opcode: 'write', ...remote, pieces: [bench.piece(left, 0, 2)] },
    });
    expect(await bench.completions(left)).toMatchObject([{ status: 0 }]);
    await bench.until(async () => (await bench.read(right, 0, 2)) === 'abcd');
  });
}

function udTests(at: () => Bench): void {
  it('sends datagrams, which come with 40 bytes of headers and the sender', async () => {
    const bench = at();
    const { left, right } = await bench.pair({ type: 'ud' });
    await bench.call(left, 'ah.create', { ah: 1, pd: left.name, ...bench.pathTo(left, right) });
    await bench.write(left, 0, 'd06a7a');
    await bench.call(right, 'qp.recv', { qp: right.name, wrId: 5, pieces: [bench.piece(right, 0, 100)] });
    await bench.call(left, 'qp.send', {
      ...{ qp: left.name, wrId: 1, opcode: 'send', ah: 1, remoteQpn: right.qpn, remoteQkey: QKEY },
      pieces: [bench.piece(left, 0, 3)],
    });
    expect(await bench.completions(right)).toMatchObject([
      { wrId: 5, status: 0, byteLen: 43, grh: true, srcQp: left.qpn },
    ]);
    expect(await bench.read(right, 40, 4)).toBe('d06a7a00');
    expect(await bench.call(left, 'qp.query', { qp: left.name })).toMatchObject({ state: 'RTS', qkey: QKEY });
    await bench.call(left, 'ah.destroy', { ah: 1 });
  });
}

function multicastTests(at: () => Bench): void {
  it('hears a group it is attached to, and not one it has left', async () => {
    const bench = at();
    const { left, right } = await bench.pair({ type: 'ud' });
    const group = '239.1.2.3';
    await bench.call(right, 'mcast.attach', { qp: right.name, group });
    await bench.call(left, 'ah.create', { ah: 1, pd: left.name, destination: group, sgidIndex: left.gid.index });
    await bench.call(right, 'qp.recv', { qp: right.name, wrId: 5, pieces: [bench.piece(right, 0, 100)] });
    await bench.call(left, 'qp.send', {
      ...{ qp: left.name, wrId: 1, opcode: 'send', ah: 1, remoteQpn: 0xff_ff_ff, remoteQkey: QKEY, pieces: [] },
    });
    expect(await bench.completions(right)).toMatchObject([{ wrId: 5, status: 0, byteLen: 40, srcQp: left.qpn }]);
    await bench.call(right, 'mcast.detach', { qp: right.name, group });
    await expect(bench.call(right, 'mcast.detach', { qp: right.name, group })).rejects.toMatchObject({
      errno: 'EINVAL',
    });
  });
}

function sharedQueueTests(at: () => Bench): void {
  it('takes receives from a shared queue, and tells when they run low and when the last was taken', async () => {
    const bench = at();
    const { left, right } = await bench.pair({ srq: true });
    for (const wrId of [31, 32])
      await bench.call(right, 'srq.recv', { srq: right.name, wrId, pieces: [bench.piece(right, 0, 8)] });
    await bench.call(right, 'srq.modify', { srq: right.name, limit: 2 });
    await bench.call(left, 'qp.send', { qp: left.name, wrId: 1, opcode: 'send', pieces: [] });
    expect(await bench.completions(right)).toMatchObject([{ wrId: 31, status: 0, qpn: right.qpn }]);
    const low = await bench.eventsUntil(right, 'srq-limit-reached');
    expect(low).toContainEqual({ event: 'srq-limit-reached', srq: right.name });
    await bench.call(right, 'qp.modify', { qp: right.name, state: 'ERR' });
    const last = await bench.eventsUntil(right, 'qp-last-wqe-reached');
    expect(last).toContainEqual({ event: 'qp-last-wqe-reached', qp: right.name });
  });

  it('refuses receives of a queue pair that has a shared queue', async () => {
    const bench = at();
    const { right } = await bench.pair({ srq: true });
    await expect(bench.call(right, 'qp.recv', { qp: right.name, wrId: 1, pieces: [] })).rejects.toMatchObject({
      kind: 'refused',
      errno: 'EINVAL',
    });
  });
}

function windowTests(at: () => Bench, conforms: boolean): void {
  it('lends a part of a region by a window until the peer takes the key away', async () => {
    const bench = at();
    const { left, right } = await bench.pair();
    const { rkey: fresh } = await bench.call(right, 'mw.alloc', { mw: 1, pd: right.name });
    const rkey = ((fresh & ~0xff) | 0x5a) >>> 0;
    const bind = { mw: 1, mr: right.name, offset: 64, length: 8, access: ['remote-write'], rkey } as const;
    await bench.call(right, 'qp.send', { qp: right.name, wrId: 1, opcode: 'bind-mw', bind });
    expect(await bench.completions(right)).toMatchObject([{ wrId: 1, status: 0, opcode: 5 }]);
    await bench.write(left, 0, '1234');
    const write = { qp: left.name, opcode: 'write', rkey, pieces: [bench.piece(left, 0, 2)] } as const;
    await bench.call(left, 'qp.send', { ...write, wrId: 2, remoteAddr: right.mr.va + 64n });
    expect(await bench.completions(left)).toMatchObject([{ wrId: 2, status: 0 }]);
    expect(await bench.read(right, 64, 2)).toBe('1234');
    await bench.call(right, 'qp.recv', { qp: right.name, wrId: 3, pieces: [] });
    await bench.call(left, 'qp.send', { qp: left.name, wrId: 4, opcode: 'send-inv', invalidateRkey: rkey });
    const [received] = await bench.completions(right);
    expect(received).toMatchObject({ wrId: 3, status: 0, ...(conforms ? { invalidatedRkey: rkey } : {}) });
    await bench.call(left, 'qp.send', { ...write, wrId: 5, remoteAddr: right.mr.va + 64n });
    expect(await bench.completions(left, 2)).toMatchObject([
      { wrId: 4, status: 0 },
      { wrId: 5, status: 10 },
    ]);
    await bench.call(right, 'mw.dealloc', { mw: 1 });
  });
}

function atomicTests(at: () => Bench): void {
  it('adds and swaps words of 64 bits, and gives what was there', async () => {
    const bench = at();
    const { left, right } = await bench.pair();
    const target = { qp: left.name, remoteAddr: right.mr.va + 8n, rkey: right.mr.rkey } as const;
    const sum = 0xfe_dc_ba_98_76_54_32_10n;
    await bench.call(left, 'qp.send', {
      ...{ ...target, wrId: 1, opcode: 'fetch-add', compareAdd: sum, pieces: [bench.piece(left, 0, 8)] },
    });
    await bench.call(left, 'qp.send', {
      ...{ ...target, wrId: 2, opcode: 'cmp-swap', compareAdd: sum, swap: 5n, pieces: [bench.piece(left, 8, 8)] },
    });
    expect(await bench.completions(left, 2)).toMatchObject([
      { wrId: 1, status: 0, opcode: 4, byteLen: 8 },
      { wrId: 2, status: 0, opcode: 3, byteLen: 8 },
    ]);
    // In memory words are in the byte order of the host.
    const [was, then] = [await bench.read(left, 0, 8), await bench.read(left, 8, 8)];
    expect([was, reversed(then)]).toEqual(['0000000000000000', 'fedcba9876543210']);
    expect(reversed(await bench.read(right, 8, 8))).toBe('0000000000000005');
  });
}

function flushTests(at: () => Bench): void {
  it('flushes a range of the peer', async () => {
    const bench = at();
    const { left, right } = await bench.pair({ access: [...ALL, 'flush-global'] });
    const flush = { type: 1, level: 0, length: 16 };
    await bench.call(right, 'qp.modify', { qp: right.name, access: ['remote-write', 'flush-global'] });
    const target = { remoteAddr: right.mr.va, rkey: right.mr.rkey };
    await bench.call(left, 'qp.send', { qp: left.name, wrId: 1, opcode: 'flush', ...target, flush });
    expect(await bench.completions(left)).toMatchObject([{ wrId: 1, status: 0, opcode: 8 }]);
  });
}

function atomicWriteTests(at: () => Bench): void {
  it('writes eight bytes at once', async () => {
    const bench = at();
    const { left, right } = await bench.pair();
    await bench.write(left, 0, '0102030405060708');
    const target = { remoteAddr: right.mr.va + 16n, rkey: right.mr.rkey };
    await bench.call(left, 'qp.send', {
      ...{ qp: left.name, wrId: 1, opcode: 'atomic-write', ...target, pieces: [bench.piece(left, 0, 8)] },
    });
    expect(await bench.completions(left)).toMatchObject([{ wrId: 1, status: 0, opcode: 9 }]);
    expect(await bench.read(right, 16, 8)).toBe('0102030405060708');
  });
}

function presetTests(at: () => Bench): void {
  it('takes the number of the next message, of reliable connections only', async () => {
    const bench = at();
    const left = await bench.side('left');
    const make = { pd: left.name, sendCq: left.name, recvCq: left.name, maxSendWr: 1, maxRecvWr: 1, maxSge: 1 };
    await bench.call(left, 'qp.create', { qp: 50, type: 'rc', ...make, msn: 0xff_ff_ff });
    await expect(bench.call(left, 'qp.create', { qp: 51, type: 'uc', ...make, msn: 2 })).rejects.toMatchObject({
      errno: 'EINVAL',
    });
    await expect(bench.call(left, 'qp.create', { qp: 51, type: 'rc', ...make, msn: 1 << 24 })).rejects.toMatchObject({
      errno: 'EINVAL',
    });
  });
}

function reversed(hex: string): string {
  return Buffer.from(hex, 'hex').reverse().toString('hex');
}
