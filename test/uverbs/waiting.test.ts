/**
 * Goal: while a command waits, others may change or end what it is about, and it keeps every bound all the same.
 * Method: the program of support/, with commands under way that a next hop, or nobody, answers.
 */
import { describe, expect, it } from 'vitest';
import * as C from '../../src/uverbs/abi/cm.ts';
import * as Q from '../../src/uverbs/abi/queues.ts';
import * as V from '../../src/uverbs/abi/verbs.ts';
import { Errno } from '../../src/uverbs/errno.ts';
import { createUverbsServer } from '../../src/uverbs/index.ts';
import { CmProgram, sockaddr } from './support/cm-program.ts';
import { attrTo, expectEmpty, gidIndex, gidOf, Mask, makeDevice, makeEnds, toRts } from './support/ends.ts';
import { fill, pick, plain, type Values } from './support/program.ts';

const UD = 4;
/** Of one file. */
const MOST_OBJECTS = 65_536;

describe('CREATE_AH that waits for its next hop', () => {
  it('keeps its domain from being freed, with an answer and without', async () => {
    const pair = await makeEnds({ type: UD });
    const { left, right, world } = pair;
    const pd_handle = await left.program.allocPd();
    const dealloc = () => left.program.errno('DEALLOC_PD', V.DEALLOC_PD, { pd_handle });
    const create = (gid: Uint8Array) => left.program.send('CREATE_AH', Q.CREATE_AH, { pd_handle, attr: attrTo(gid) });
    const creating = [create(right.gid), create(gidOf(99))];
    expect(await dealloc()).toBe(Errno.EBUSY);
    const [made, failed] = await world.run(Promise.all(creating));
    expect([made?.errno, failed?.errno]).toEqual([0, Errno.EHOSTUNREACH]);
    expect(await dealloc()).toBe(Errno.EBUSY);
    const ah_handle = pick(Q.CREATE_AH_RESP, made?.response ?? new Uint8Array(0), 'ah_handle');
    await left.program.ok('DESTROY_AH', Q.DESTROY_AH, { ah_handle });
    expect(await dealloc()).toBe(0);
    await expectEmpty(pair);
  });

  it('makes nothing in a file that is closed when it comes', async () => {
    const pair = await makeEnds({ type: UD });
    const { left, right, world } = pair;
    const values = { pd_handle: left.pd, attr: attrTo(right.gid) };
    const creating = [1, 2].map(() => left.program.errno('CREATE_AH', Q.CREATE_AH, values));
    left.program.file.close();
    expect(await world.run(Promise.all(creating))).toEqual([Errno.EIO, Errno.EIO]);
    expect(left.device.tables().nextHops).toBe(0);
    await expectEmpty(pair);
  });

  it('counts among the objects of its file', async () => {
    const pair = await makeEnds({ type: UD });
    const { left, right, world } = pair;
    const room = MOST_OBJECTS - 6;
    const values = { pd_handle: left.pd, attr: attrTo(right.gid) };
    const creating = Array.from({ length: room + 10 }, () => left.program.errno('CREATE_AH', Q.CREATE_AH, values));
    expect(await left.program.errno('ALLOC_PD', V.ALLOC_PD, {})).toBe(Errno.ENOMEM);
    const made = (await world.run(Promise.all(creating))).filter((errno) => errno === 0);
    expect(made.length).toBeLessThanOrEqual(room);
    expect(await left.program.errno('ALLOC_PD', V.ALLOC_PD, {})).toBe(Errno.ENOMEM);
    await expectEmpty(pair);
  });

  it('gives its place back when no answer comes', async () => {
    const pair = await makeEnds({ type: UD });
    const { left, world } = pair;
    const values = { pd_handle: left.pd, attr: attrTo(gidOf(99)) };
    const creating = Array.from({ length: MOST_OBJECTS }, () => left.program.errno('CREATE_AH', Q.CREATE_AH, values));
    const errnos = new Set(await world.run(Promise.all(creating)));
    expect(errnos).toEqual(new Set([Errno.EHOSTUNREACH, Errno.ENOMEM]));
    expect(await left.program.errno('ALLOC_PD', V.ALLOC_PD, {})).toBe(0);
    await expectEmpty(pair);
  });
});

describe('MODIFY_QP that waits for its next hop', () => {
  const [RTS, SQD] = [3, 4];

  /** To RTS with a path that has to be resolved, from the state that is named; meanwhile another command moves it. */
  async function movedMeanwhile(cur_qp_state: number): Promise<number> {
    const pair = await toRts(await makeEnds());
    const { left, world } = pair;
    makeDevice(world, 3);
    const modify = (attr_mask: number, values: Values) =>
      left.program.errno('MODIFY_QP', Q.MODIFY_QP, { qp_handle: left.qp.handle, attr_mask, ...values });
    expect(await modify(Mask.STATE, { qp_state: SQD })).toBe(0);
    const alt_dest = fill(Q.QP_DEST, { dgid: gidOf(3), sgid_index: gidIndex, is_global: 1, port_num: 1 });
    const waiting = modify(Mask.STATE | Mask.CUR_STATE | Mask.ALT_PATH, { qp_state: RTS, cur_qp_state, alt_dest });
    expect(await modify(Mask.STATE, { qp_state: RTS })).toBe(0);
    const errno = await world.run(waiting);
    await expectEmpty(pair);
    return errno;
  }

  it('is refused where the state is not the one that it names, when its turn comes', async () => {
    expect([await movedMeanwhile(SQD), await movedMeanwhile(RTS)]).toEqual([Errno.EINVAL, 0]);
  });
});

describe('a device that is closed', () => {
  it('answers what waits for a next hop, and lets nothing wait any more', async () => {
    const pair = await makeEnds();
    const { left, right } = pair;
    const { program, device, pd, qp } = left;
    const cm = new CmProgram(createUverbsServer(device));
    const begin = { qp_handle: qp.handle, qp_state: 1, port_num: 1, qp_access_flags: 1 };
    await program.ok('MODIFY_QP', Q.MODIFY_QP, {
      ...begin,
      attr_mask: Mask.STATE | Mask.PKEY | Mask.PORT | Mask.ACCESS,
    });
    const dest = fill(Q.QP_DEST, { dgid: right.gid, sgid_index: gidIndex, is_global: 1, port_num: 1 });
    const rtr = { qp_handle: qp.handle, qp_state: 2, dest, path_mtu: 3, attr_mask: Mask.STATE | Mask.AV | Mask.MTU };
    const resolve = async (uid: number): Promise<number | undefined> => {
      const id = cm.createId(uid);
      cm.ok('RESOLVE_IP', C.RESOLVE_IP, { id, timeout_ms: 2000, dst_addr: sockaddr('10.0.0.2', 7) });
      await new Promise((resolved) => setImmediate(resolved));
      return cm.event()?.status;
    };
    const all = () =>
      Promise.all([
        program.errno('CREATE_AH', Q.CREATE_AH, { pd_handle: pd, attr: attrTo(right.gid) }),
        program.errno('MODIFY_QP', Q.MODIFY_QP, rtr),
        resolve(1),
      ]);
    const waiting = all();
    device.close();
    expect(await waiting).toEqual([Errno.ENODEV, Errno.ENODEV, -Errno.ENODEV]);
    expect(await all()).toEqual([Errno.ENODEV, Errno.ENODEV, -Errno.ENODEV]);
    cm.file.close();
    await expectEmpty(pair);
  });
});

describe('commands that wait', () => {
  it('are as many as a file has objects, whatever they are', async () => {
    const pair = await makeEnds();
    const { left, world } = pair;
    const begin = { qp_handle: left.qp.handle, qp_state: 1, port_num: 1, qp_access_flags: 1 };
    const mask = Mask.STATE | Mask.PKEY | Mask.PORT | Mask.ACCESS;
    await left.program.ok('MODIFY_QP', Q.MODIFY_QP, { ...begin, attr_mask: mask });
    const dest = fill(Q.QP_DEST, { dgid: gidOf(99), sgid_index: gidIndex, is_global: 1, port_num: 1 });
    const rtr = {
      qp_handle: left.qp.handle,
      qp_state: 2,
      dest,
      path_mtu: 3,
      attr_mask: Mask.STATE | Mask.AV | Mask.MTU,
    };
    const modify = () => left.program.errno('MODIFY_QP', Q.MODIFY_QP, rtr);
    const modifying = Array.from({ length: MOST_OBJECTS }, modify);
    // One more is refused at once, as every command is.
    const query = plain('QUERY_PORT', fill(V.QUERY_PORT, { port_num: 1 }), new Uint8Array(0), V.QUERY_PORT_RESP.size);
    expect(left.program.file.command(query)).toMatchObject({ errno: Errno.ENOMEM });
    expect(new Set(await world.run(Promise.all(modifying)))).toEqual(new Set([Errno.EHOSTUNREACH]));
    expect(left.program.file.command(query)).toMatchObject({ errno: 0 });
    await expectEmpty(pair);
  });
});
