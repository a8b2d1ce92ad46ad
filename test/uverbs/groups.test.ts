/**
 * Goal: a queue pair is attached to a group once, however often it is asked for, and one command ends that. Rules:
 * linux:core/uverbs_cmd.c#ib_uverbs_attach_mcast, #ib_uverbs_detach_mcast. Method: the program of support/.
 */
import { describe, expect, it } from 'vitest';
import { Medium } from '../../packets/frame.ts';
import { Device, IpPrefix, parseMac, RoceError } from '../../src/index.ts';
import * as Q from '../../src/uverbs/abi/queues.ts';
import { Errno } from '../../src/uverbs/errno.ts';
import { createUverbsServer } from '../../src/uverbs/index.ts';
import { seededRandom } from '../transport/support/peer.ts';
import { type End, expectEmpty, makeEnds } from './support/ends.ts';
import { Program } from './support/program.ts';

const UD = 4;
/** 239.0.0.x as a GID. */
const groupOf = (last: number) => Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 0, 0, last);

function commandsOf({ program, qp }: Pick<End, 'program' | 'qp'>) {
  const values = (last: number, mlid: number) => ({ qp_handle: qp.handle, gid: groupOf(last), mlid });
  return {
    attach: (last: number, mlid = 0) => program.errno('ATTACH_MCAST', Q.ATTACH_MCAST, values(last, mlid)),
    detach: (last: number, mlid = 0) => program.errno('DETACH_MCAST', Q.ATTACH_MCAST, values(last, mlid)),
    destroy: () => program.errno('DESTROY_QP', Q.DESTROY_QP, { qp_handle: qp.handle }),
  };
}

/** A device on a wire of the kernel's, whose joins wait for `answers`, and a queue pair of datagrams there. */
async function onWireOfKernel() {
  const answers: ((isJoined: boolean) => void)[] = [];
  const joinGroup = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const failed = new RoceError('ERR_ROCE_LINK_UNAVAILABLE', 'no such interface');
      answers.push((isJoined) => (isJoined ? resolve() : reject(failed)));
    });
  const device = new Device({
    host: { now: () => 0, wake: () => {}, joinGroup, leaveGroup: () => {} },
    random: seededRandom(1),
    medium: Medium.Ip,
    mac: parseMac('02:00:00:00:00:01'),
    addresses: [IpPrefix.parse('10.0.0.1/24')],
    mtu: 1500,
  });
  const program = await new Program(createUverbsServer(device)).open();
  const qp = await program.createQp(await program.allocPd(), await program.createCq(), { qp_type: UD });
  return { answers, device, commands: commandsOf({ program, qp }) };
}

describe('a group that the kernel has yet to join', () => {
  it('keeps its queue pair until it is left, whatever becomes of an earlier wish to join it', async () => {
    for (const isJoined of [true, false]) {
      const { answers, device, commands } = await onWireOfKernel();
      const { attach, detach, destroy } = commands;
      const first = attach(1);
      expect([await detach(1), await detach(1)]).toEqual([0, Errno.EINVAL]);
      const second = attach(1);
      answers[0]?.(isJoined);
      // As if the first had come before its end.
      expect(await first).toBe(0);
      expect(await destroy()).toBe(Errno.EBUSY);
      answers[1]?.(true);
      expect([await second, await destroy(), await detach(1), await destroy()]).toEqual([0, Errno.EBUSY, 0, 0]);
      expect(device.multicast.size).toBe(0);
    }
  });

  it('and cannot lets it go', async () => {
    const { answers, device, commands } = await onWireOfKernel();
    const { attach, detach, destroy } = commands;
    const attaching = [attach(1), attach(1)];
    answers[0]?.(false);
    expect(await Promise.all(attaching)).toEqual([Errno.ENODEV, Errno.ENODEV]);
    expect([await detach(1), device.multicast.size, await destroy()]).toEqual([Errno.EINVAL, 0, 0]);
  });
});

describe('a queue pair in a group', () => {
  it('is attached once by two commands, and one ends it', async () => {
    const pair = await makeEnds({ type: UD });
    const { attach, detach, destroy } = commandsOf(pair.left);
    expect([await attach(1), await attach(1), await attach(2)]).toEqual([0, 0, 0]);
    expect(await detach(1)).toBe(0);
    expect(await detach(1)).toBe(Errno.EINVAL);
    expect(await destroy()).toBe(Errno.EBUSY);
    expect(await detach(2)).toBe(0);
    expect(await destroy()).toBe(0);
    await expectEmpty(pair);
  });

  it('is itself in it: another one may be destroyed', async () => {
    const pair = await makeEnds({ type: UD });
    const { left } = pair;
    const { attach, destroy } = commandsOf(left);
    const other = await left.program.createQp(left.pd, left.cq, { qp_type: UD });
    expect(await attach(1)).toBe(0);
    expect(await left.program.errno('DESTROY_QP', Q.DESTROY_QP, { qp_handle: other.handle })).toBe(0);
    expect(await destroy()).toBe(Errno.EBUSY);
    await expectEmpty(pair);
  });

  it('is so by two commands that wait at the same time', async () => {
    const pair = await makeEnds({ type: UD });
    const { attach, detach, destroy } = commandsOf(pair.left);
    expect(await Promise.all([attach(1), attach(1)])).toEqual([0, 0]);
    // Ended before it has begun.
    expect(await Promise.all([detach(1), attach(2), detach(2)])).toEqual([0, 0, 0]);
    expect(await destroy()).toBe(0);
    await expectEmpty(pair);
  });

  it('is in it whatever the LID, which Ethernet has no use for', async () => {
    const pair = await makeEnds({ type: UD });
    const { attach, detach, destroy } = commandsOf(pair.left);
    expect([await attach(1, 5), await attach(1, 6)]).toEqual([0, 0]);
    expect([await detach(1, 7), await detach(1, 5), await destroy()]).toEqual([0, Errno.EINVAL, 0]);
    await expectEmpty(pair);
  });

  it('is in none after a refusal: of an address that is no group, and of a queue pair of connections', async () => {
    const datagrams = await makeEnds({ type: UD });
    const { program, qp, gid } = datagrams.left;
    const values = { qp_handle: qp.handle, gid };
    expect(await program.errno('DETACH_MCAST', Q.ATTACH_MCAST, values)).toBe(Errno.EINVAL);
    for (const command of ['ATTACH_MCAST', 'ATTACH_MCAST'] as const)
      expect(await program.errno(command, Q.ATTACH_MCAST, values)).toBe(Errno.EINVAL);
    expect(await commandsOf(datagrams.left).destroy()).toBe(0);
    await expectEmpty(datagrams);

    const connected = await makeEnds();
    const { attach, detach, destroy } = commandsOf(connected.left);
    expect(await Promise.all([attach(1), attach(1)])).toEqual([Errno.EINVAL, Errno.EINVAL]);
    expect([await detach(1), await destroy()]).toEqual([Errno.EINVAL, 0]);
    await expectEmpty(connected);
  });
});
