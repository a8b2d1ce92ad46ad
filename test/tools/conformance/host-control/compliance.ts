/**
 * What any host control must do, as a suite that takes them: run over a device of our own, over client and server, over
 * an agent on a host. A part about what a device need not have is passed over where its host control do not list the
 * feature.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Feature } from '../../../../tools/conformance/host-control/host-control.ts';
import { connectionTests } from './compliance-cm.ts';
import { extensionTests } from './compliance-extensions.ts';
import { ALL, Bench, PSN, REGION_BYTES, type Subject } from './subject.ts';

/** What can be expected of the device behind the host control. */
export interface Expectations {
  /** What it has. */
  readonly features: readonly Feature[];
  /** It fails work as verbs say; where it is known not to, host control can only tell what it does. */
  readonly conforms: boolean;
}

/** A suite under `name`; `open` gives a subject for each test. */
export function describeHostControl(
  name: string,
  { features, conforms }: Expectations,
  open: () => Promise<Subject>,
): void {
  describe(name, () => {
    let bench: Bench;
    const at = (): Bench => bench;
    beforeEach(async () => {
      bench = new Bench(await open());
    });
    afterEach(() => bench.subject.close());
    objectTests(at);
    dataTests(at);
    failureTests(at);
    if (conforms) statusTests(at);
    extensionTests(at, features, conforms);
    if (features.includes('cm')) connectionTests(at);
  });
}

function objectTests(at: () => Bench): void {
  it('says what it has found', () => {
    const { left, leftGid } = at().subject;
    const { gids, device, maxSge, activeMtu } = left.description;
    expect(device).not.toBe('');
    expect(gids.find(({ index }) => index === leftGid.index)?.address).toBe(leftGid.address);
    expect(maxSge).toBeGreaterThanOrEqual(1);
    expect([256, 512, 1024, 2048, 4096]).toContain(activeMtu);
  });

  it('gives each region zeroed memory at an address of its own, and reads what was written', async () => {
    const bench = at();
    const left = await bench.side('left');
    const other = await bench.call(left, 'mr.reg', { mr: 7, pd: left.name, length: 100, access: [] });
    expect(left.mr.va).not.toBe(0n);
    expect(other.va).not.toBe(left.mr.va);
    expect(await bench.read(left, 0, 16)).toBe('00'.repeat(16));
    await bench.write(left, 3, 'c0FFee');
    expect(await bench.read(left, 2, 5)).toBe('00c0ffee00');
    await expect(bench.read(left, REGION_BYTES - 4, 5)).rejects.toMatchObject({ kind: 'refused', errno: 'ERANGE' });
    await expect(bench.write(left, REGION_BYTES, '00')).rejects.toMatchObject({ kind: 'refused', errno: 'ERANGE' });
  });

  it('refuses names in use, names of nothing and what is still used, each with its errno', async () => {
    const bench = at();
    const left = await bench.side('left');
    const refusals = [
      [bench.call(left, 'pd.alloc', { pd: left.name }), 'EEXIST'],
      [bench.call(left, 'cq.poll', { cq: 99, max: 1 }), 'ENOENT'],
      [bench.call(left, 'mr.reg', { mr: 5, pd: 99, length: 8, access: [] }), 'ENOENT'],
      [bench.call(left, 'pd.dealloc', { pd: left.name }), 'EBUSY'],
      [bench.call(left, 'cq.destroy', { cq: left.name }), 'EBUSY'],
    ] as const;
    for (const [refusal, errno] of refusals) await expect(refusal).rejects.toMatchObject({ kind: 'refused', errno });
    await bench.call(left, 'qp.destroy', { qp: left.name });
    await bench.call(left, 'mr.dereg', { mr: left.name });
    await bench.call(left, 'cq.destroy', { cq: left.name });
    await bench.call(left, 'pd.dealloc', { pd: left.name });
    await bench.call(left, 'pd.alloc', { pd: left.name });
  });

  it('refuses moves that verbs do not allow and attributes that are missing, and changes nothing', async () => {
    const bench = at();
    const left = await bench.side('left');
    const qp = left.name;
    const invalid = { kind: 'refused', errno: 'EINVAL' };
    await expect(bench.call(left, 'qp.modify', { qp, state: 'RTS', sqPsn: 0 })).rejects.toMatchObject(invalid);
    await expect(bench.call(left, 'qp.modify', { qp, state: 'INIT', port: 1, access: [] })).rejects.toMatchObject(
      invalid,
    );
    await expect(
      bench.call(left, 'qp.modify', { qp, state: 'INIT', port: 9, pkeyIndex: 0, access: [] }),
    ).rejects.toMatchObject(invalid);
    expect((await bench.call(left, 'qp.query', { qp })).state).toBe('RESET');
    await bench.call(left, 'qp.modify', { qp, state: 'INIT', port: 1, pkeyIndex: 0, access: ['remote-read'] });
    const { state, access } = await bench.call(left, 'qp.query', { qp });
    expect({ state, access }).toEqual({ state: 'INIT', access: ['remote-read'] });
    await expect(
      bench.call(left, 'qp.send', { qp, wrId: 1, opcode: 'send', pieces: [bench.piece(left, 0, 1)] }),
    ).rejects.toMatchObject(invalid);
  });

  it('tells the attributes of a connected queue pair as they were given', async () => {
    const bench = at();
    const { left, right } = await bench.pair();
    const found = await bench.call(left, 'qp.query', { qp: left.name });
    expect(found).toMatchObject({ state: 'RTS', destQpn: right.qpn, rqPsn: PSN, sqPsn: PSN, mtu: 1024, timeout: 14 });
    expect(found).toMatchObject({ maxRdAtomic: 4, maxDestRdAtomic: 4, retryCnt: 7, rnrRetry: 7, minRnrTimer: 1 });
    expect(found.path).toMatchObject({ destination: right.gid.address, sgidIndex: left.gid.index });
  });

  it('does calls in their order, whether or not they are waited for', async () => {
    const bench = at();
    const { left: hostControl } = bench.subject;
    const made = bench.subject.run(
      Promise.all([
        hostControl.call('pd.alloc', { pd: 1 }),
        hostControl.call('mr.reg', { mr: 1, pd: 1, length: 8, access: [] }),
        hostControl.call('mem.write', { mr: 1, offset: 0, hex: '0102' }),
        hostControl.call('mem.read', { mr: 1, offset: 0, length: 2 }),
        hostControl.call('mr.dereg', { mr: 1 }),
        hostControl.call('pd.dealloc', { pd: 1 }),
      ]),
    );
    expect((await made)[3]).toEqual({ hex: '0102' });
  });

  it('has a port of Ethernet without LIDs, and counters of whole numbers', async () => {
    const bench = at();
    const { left: hostControl } = bench.subject;
    const port = await bench.call({ hostControl }, 'port.query', {});
    expect(port).toMatchObject({ state: 'PORT_ACTIVE', linkLayer: 'Ethernet', lid: 0, smLid: 0 });
    expect(port.pkeys).toContain(0xff_ff);
    const { counters } = await bench.call({ hostControl }, 'counters', {});
    for (const value of Object.values(counters)) expect(value).toBeGreaterThanOrEqual(0);
  });

  it('destroys everything with reset, connected queue pairs too, and names are free again', async () => {
    const bench = at();
    for (let round = 0; round < 3; round++) {
      const { left, right } = await bench.pair();
      await bench.call(right, 'qp.recv', { qp: right.name, wrId: 1, pieces: [bench.piece(right, 0, 64)] });
      await bench.call(left, 'qp.send', { qp: left.name, wrId: 1, opcode: 'send', pieces: [bench.piece(left, 0, 8)] });
      await bench.call(left, 'reset', {});
      await bench.call(right, 'reset', {});
      await expect(bench.call(left, 'qp.query', { qp: left.name })).rejects.toMatchObject({ errno: 'ENOENT' });
    }
  });
}

function dataTests(at: () => Bench): void {
  it('sends with immediate data and completes both sides', async () => {
    const bench = at();
    const { left, right } = await bench.pair();
    await bench.write(left, 0, '0badcafe');
    await bench.call(right, 'qp.recv', { qp: right.name, wrId: 21, pieces: [bench.piece(right, 100, 64)] });
    await bench.call(left, 'qp.send', {
      ...{ qp: left.name, wrId: 12, opcode: 'send-imm', imm: 0x89_ab_cd_ef, pieces: [bench.piece(left, 0, 4)] },
    });
    const [sent] = await bench.completions(left);
    expect(sent).toMatchObject({ wrId: 12, status: 0, opcode: 0, qpn: left.qpn });
    const [received] = await bench.completions(right);
    expect(received).toMatchObject({ wrId: 21, status: 0, opcode: 128, byteLen: 4, imm: 0x89_ab_cd_ef });
    expect(await bench.read(right, 100, 5)).toBe('0badcafe00');
  });

  it('writes, reads, and writes with immediate data', async () => {
    const bench = at();
    const { left, right } = await bench.pair();
    await bench.write(left, 0, '01020304');
    const { va, rkey } = right.mr;
    const base = { qp: left.name, rkey } as const;
    await bench.call(left, 'qp.send', {
      ...{ ...base, wrId: 1, opcode: 'write', remoteAddr: va + 8n, pieces: [bench.piece(left, 0, 4)] },
    });
    await bench.call(left, 'qp.send', {
      ...{ ...base, wrId: 2, opcode: 'read', remoteAddr: va + 6n, pieces: [bench.piece(left, 50, 8)] },
    });
    expect(await bench.completions(left, 2)).toMatchObject([
      { wrId: 1, status: 0, opcode: 1 },
      { wrId: 2, status: 0, opcode: 2, byteLen: 8 },
    ]);
    expect(await bench.read(left, 50, 8)).toBe('0000010203040000');
    await bench.call(right, 'qp.recv', { qp: right.name, wrId: 3, pieces: [] });
    await bench.call(left, 'qp.send', {
      ...{ ...base, wrId: 4, opcode: 'write-imm', imm: 7, remoteAddr: va, pieces: [bench.piece(left, 0, 4)] },
    });
    const [received] = await bench.completions(right);
    expect(received).toMatchObject({ wrId: 3, status: 0, opcode: 129, byteLen: 4, imm: 7 });
    expect(await bench.read(right, 0, 4)).toBe('01020304');
  });

  it('sends bytes inline as they were when posted, and without completion where none was asked for', async () => {
    const bench = at();
    const { left, right } = await bench.pair();
    const remote = { remoteAddr: right.mr.va, rkey: right.mr.rkey };
    await bench.write(left, 0, 'aabb');
    const posted = { qp: left.name, opcode: 'write', ...remote, pieces: [bench.piece(left, 0, 2)] } as const;
    await bench.call(left, 'qp.send', { ...posted, wrId: 1, inline: true, signaled: false });
    await bench.call(left, 'qp.send', { ...posted, wrId: 2, remoteAddr: right.mr.va + 2n });
    const found = await bench.completions(left);
    expect(found.map(({ wrId }) => wrId)).toEqual([2]);
    expect(await bench.read(right, 0, 4)).toBe('aabbaabb');
  });

  it('counts completion events of an armed queue, solicited ones alone where that was asked', async () => {
    const bench = at();
    const { left, right } = await bench.pair();
    for (const wrId of [1, 2, 3])
      await bench.call(right, 'qp.recv', { qp: right.name, wrId, pieces: [bench.piece(right, 0, 8)] });
    const cq = right.name;
    const send = (solicited: boolean) =>
      bench.call(left, 'qp.send', { qp: left.name, wrId: 9, opcode: 'send', solicited, pieces: [] });
    await bench.call(right, 'cq.arm', { cq, solicitedOnly: false });
    await send(false);
    await bench.completions(right);
    expect(await bench.call(right, 'cq.events', { cq })).toEqual({ count: 1 });
    await bench.call(right, 'cq.arm', { cq, solicitedOnly: true });
    await send(false);
    await bench.completions(right);
    expect(await bench.call(right, 'cq.events', { cq })).toEqual({ count: 0 });
    await send(true);
    await bench.completions(right);
    expect(await bench.call(right, 'cq.events', { cq })).toEqual({ count: 1 });
  });
}

function failureTests(at: () => Bench): void {
  it('fails a WRITE with a wrong key, and flushes what comes after it', async () => {
    const bench = at();
    const { left, right } = await bench.pair();
    const base = {
      qp: left.name,
      opcode: 'write',
      remoteAddr: right.mr.va,
      pieces: [bench.piece(left, 0, 4)],
    } as const;
    await bench.call(left, 'qp.send', { ...base, wrId: 1, rkey: (right.mr.rkey ^ 0xff_00) >>> 0 });
    const [failed] = await bench.completions(left);
    expect(failed).toMatchObject({ wrId: 1, status: 10, qpn: left.qpn });
    expect((await bench.call(left, 'qp.query', { qp: left.name })).state).toBe('ERR');
    await bench.call(left, 'qp.send', { ...base, wrId: 2, rkey: right.mr.rkey });
    expect(await bench.completions(left)).toMatchObject([{ wrId: 2, status: 5 }]);
  });

  it.each(WRONG_PIECES)('fails a SEND with %s', async (_what, wrong) => {
    const bench = at();
    const { left } = await bench.pair();
    const piece = { ...bench.piece(left, 0, 4), ...wrong };
    await bench.call(left, 'qp.send', { qp: left.name, wrId: 1, opcode: 'send', pieces: [piece] });
    const [failed] = await bench.completions(left);
    expect(failed?.status).not.toBe(0);
  });

  it('sends from the region that a local key names, wherever the piece says it is', async () => {
    const bench = at();
    const { left, right } = await bench.pair();
    const other = await bench.call(left, 'mr.reg', { mr: 9, pd: left.name, length: 64, access: ALL });
    await bench.call(left, 'mem.write', { mr: 9, offset: 4, hex: '77' });
    const piece = { ...bench.piece(left, 0, 1), lkey: other.lkey, address: other.va + 4n };
    const remote = { remoteAddr: right.mr.va, rkey: right.mr.rkey };
    await bench.call(left, 'qp.send', { qp: left.name, wrId: 1, opcode: 'write', ...remote, pieces: [piece] });
    expect(await bench.completions(left)).toMatchObject([{ wrId: 1, status: 0 }]);
    expect(await bench.read(right, 0, 1)).toBe('77');
  });

  it('refuses more work than the queue holds with ENOMEM, and posts none of it', async () => {
    const bench = at();
    const left = await bench.side('left', { maxSendWr: 1 });
    await bench.call(left, 'qp.modify', { qp: left.name, state: 'INIT', port: 1, pkeyIndex: 0, access: [] });
    const post = (wrId: number) => bench.call(left, 'qp.recv', { qp: left.name, wrId, pieces: [] });
    const refusals: unknown[] = [];
    // Verbs may give more room than was asked for.
    for (let wrId = 0; wrId < 1024 && refusals.length === 0; wrId++)
      await post(wrId).catch((error: unknown) => refusals.push(error));
    expect(refusals).toMatchObject([{ kind: 'refused', errno: 'ENOMEM' }]);
  });

  it('tells that a send queue is drained where that was asked, once', async () => {
    const bench = at();
    const { left } = await bench.pair();
    await bench.call(left, 'events', {});
    await bench.call(left, 'qp.modify', { qp: left.name, state: 'SQD', enSqdAsyncNotify: true });
    const events = await bench.eventsUntil(left, 'sq-drained');
    expect(events).toContainEqual({ event: 'sq-drained', qp: left.name });
    expect(await bench.call(left, 'events', {})).toEqual({ events: [] });
  });
}

/** What a device has to say, exactly. */
function statusTests(at: () => Bench): void {
  it.each(WRONG_PIECES)('calls a SEND with %s a local protection error', async (_what, wrong) => {
    const bench = at();
    const { left } = await bench.pair();
    const piece = { ...bench.piece(left, 0, 4), ...wrong };
    await bench.call(left, 'qp.send', { qp: left.name, wrId: 1, opcode: 'send', pieces: [piece] });
    expect(await bench.completions(left)).toMatchObject([{ wrId: 1, status: 4 }]);
  });

  it('flushes a receive that is posted to a queue pair in error', async () => {
    const bench = at();
    const { left } = await bench.pair();
    await bench.call(left, 'qp.modify', { qp: left.name, state: 'ERR' });
    await bench.call(left, 'qp.recv', { qp: left.name, wrId: 3, pieces: [] });
    expect(await bench.completions(left)).toMatchObject([{ wrId: 3, status: 5 }]);
  });

  it('tells of a datagram alone that it has headers', async () => {
    const bench = at();
    const { left, right } = await bench.pair();
    await bench.call(right, 'qp.recv', { qp: right.name, wrId: 1, pieces: [] });
    await bench.call(left, 'qp.send', { qp: left.name, wrId: 1, opcode: 'send', pieces: [] });
    expect(await bench.completions(right)).toMatchObject([{ wrId: 1, status: 0, grh: false }]);
  });
}

const WRONG_PIECES = [
  ['a local key that opens nothing', { lkey: 0xde_ad_00_00 }],
  ['an address outside the region', { address: 1n }],
] as const;
