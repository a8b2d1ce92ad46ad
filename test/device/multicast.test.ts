/**
 * Goal: datagrams to a group reach every queue pair attached to it, here and elsewhere, and nobody else. Method: three
 * devices on a simulated Ethernet; ref:conformance#MC rows; what the host says of its groups is looked at on the wire.
 */
import { describe, expect, it } from 'vitest';
import { formatMac } from '../../packets/address.ts';
import { Medium } from '../../packets/frame.ts';
import {
  Access,
  Device,
  IpAddress,
  IpPrefix,
  type MemoryRegion,
  type Pd,
  parseMac,
  type Qp,
  QpState,
  QpType,
  RoceError,
  WorkCompletion,
  World,
  WrOpcode,
} from '../../src/index.ts';
import { attachDevice } from '../../src/sim/attach-device.ts';
import type { CompletionQueue } from '../../transport/completion-queue.ts';
import { pattern } from '../transport/support/packets.ts';
import { seededRandom } from '../transport/support/peer.ts';

const QKEY = 0x0123_4567;
const GROUPS = ['239.1.2.3', 'ff3e::1:2'].map((text) => IpAddress.parse(text));
const [GROUP = IpAddress.parse('239.1.2.3')] = GROUPS;

interface Member {
  readonly pd: Pd;
  readonly qp: Qp;
  readonly cq: CompletionQueue;
  readonly mr: MemoryRegion;
}

interface Lan {
  readonly world: World;
  readonly devices: readonly Device[];
  /** "02:00:00:00:00:01 to 01:00:5e:00:00:16" of frames that are not RoCE. */
  readonly heard: string[];
}

function makeLan(limits = {}): Lan {
  const world = new World({ seed: 3 });
  const heard: string[] = [];
  world.network.tap = {
    frame: (_now, _port, direction, bytes, start) => {
      if (direction === 'out') heard.push(`${formatMac(bytes, start + 6)} to ${formatMac(bytes, start)}`);
    },
  };
  const devices = [1, 2, 3].map((id) =>
    attachDevice(world, `device ${id}`, { addresses: [`10.0.0.${id}/24`, `fd00::${id}/64`], mtu: 1500, limits }),
  );
  return { world, devices, heard };
}

function makeMember(device: Device | undefined, qkey = QKEY): Member {
  if (device === undefined) throw new Error('no such device');
  const pd = device.allocPd();
  const cq = device.createCq(64);
  const qp = pd.createQp({ type: QpType.Ud, sendCq: cq, recvCq: cq });
  qp.modifyNow({ state: QpState.Init, qkey });
  qp.modifyNow({ state: QpState.Rtr });
  qp.modifyNow({ state: QpState.Rts, sqPsn: 0 });
  const mr = pd.regMr(2048, { access: Access.LocalWrite });
  for (const wrId of [1, 2, 3, 4]) qp.postRecv({ wrId, sges: [{ mr }] });
  return { pd, qp, cq, mr };
}

/** Receives that have completed since the last look. */
function received({ cq, qp }: Member): number {
  const wc = new WorkCompletion();
  let count = 0;
  while (cq.poll(wc)) if (wc.grh) count += 1;
  expect(qp.state).toBe(QpState.Rts);
  return count;
}

async function send({ world }: Lan, from: Member, group: IpAddress, remoteQkey = QKEY): Promise<void> {
  const ah = await world.run(from.pd.createAh({ destination: group }));
  const wr = { wrId: 9, opcode: WrOpcode.Send, inline: pattern(20), ah, remoteQpn: 0xff_ff_ff, remoteQkey };
  from.qp.postSend(wr);
  world.runFor(1e6);
}

async function errorOf(made: Promise<unknown> | (() => unknown)): Promise<string> {
  try {
    await (typeof made === 'function' ? made() : made);
  } catch (error) {
    if (error instanceof RoceError) return `${error.code} ${error.errno}`;
    throw error;
  }
  return 'nothing';
}

describe('a datagram to a group', () => {
  it.each(GROUPS)(
    'MC-01 MC-02 MC-03 MC-04 %s reaches every attached queue pair with its Q_Key, and no other',
    async (group) => {
      const lan = makeLan();
      const [a, b, c] = lan.devices;
      const [sender, one, two, wrongKey, unattached, far] = [
        makeMember(a),
        makeMember(b),
        makeMember(b),
        makeMember(b, 7),
        makeMember(b),
        makeMember(c),
      ];
      for (const { qp } of [one, two, wrongKey, far]) await qp.attachMcast(group);
      await send(lan, sender, group);
      expect([one, two, wrongKey, unattached, far, sender].map(received)).toEqual([1, 1, 0, 0, 1, 0]);
      expect(one.mr.bytes.subarray(40, 60)).toEqual(pattern(20));
      expect(b?.portCounters.qkeyViolation).toBe(1);
      two.qp.detachMcast(group);
      far.qp.detachMcast(group);
      await send(lan, sender, group);
      expect([one, two, far].map(received)).toEqual([1, 0, 0]);
      expect(c?.counters.otherGroup).toBe(1);
    },
  );

  it('reaches the queue pairs of its own host, the sender itself when it is attached, as with rdma_rxe', async () => {
    const lan = makeLan();
    const [a, b] = lan.devices;
    const [sender, neighbour, far] = [makeMember(a), makeMember(a), makeMember(b)];
    for (const { qp } of [neighbour, far]) await qp.attachMcast(GROUP);
    await send(lan, sender, GROUP);
    expect([sender, neighbour, far].map(received)).toEqual([0, 1, 1]);
    await sender.qp.attachMcast(GROUP);
    await send(lan, sender, GROUP);
    expect([sender, neighbour, far].map(received)).toEqual([1, 1, 1]);
  });

  it('MC-06 with queue pair 0xffffff to one host, and to a queue pair of a group that is not ours, is dropped', async () => {
    const lan = makeLan();
    const [a, b] = lan.devices;
    const [sender, other] = [makeMember(a), makeMember(b)];
    await other.qp.attachMcast(GROUP);
    await send(lan, sender, IpAddress.parse('10.0.0.2'));
    expect(b?.counters.otherGroup).toBe(1);
    const ah = await lan.world.run(sender.pd.createAh({ destination: IpAddress.parse('239.9.9.9') }));
    sender.qp.postSend({ wrId: 1, opcode: WrOpcode.Send, ah, remoteQpn: other.qp.qpn, remoteQkey: QKEY });
    lan.world.runFor(1e6);
    expect(b?.counters.otherAddress).toBe(1);
    expect(received(other)).toBe(0);
  });

  it('goes to the MAC address of the group, whatever gateway there is', async () => {
    const lan = makeLan();
    const sender = makeMember(lan.devices[0]);
    lan.heard.length = 0;
    for (const group of GROUPS) await send(lan, sender, group);
    expect(lan.heard).toEqual(['02:00:00:00:00:01 to 01:00:5e:01:02:03', '02:00:00:00:00:01 to 33:33:00:01:00:02']);
  });
});

describe('the device', () => {
  it('joins with the first queue pair of a group and leaves with the last, destroyed or detached', async () => {
    const { world, devices, heard } = makeLan();
    const [a] = devices;
    const [one, two] = [makeMember(a), makeMember(a)];
    const reports = (): number => heard.splice(0).filter((line) => line.endsWith('to 01:00:5e:00:00:16')).length;
    await one.qp.attachMcast(GROUP);
    await one.qp.attachMcast(GROUP);
    await two.qp.attachMcast(GROUP);
    world.runFor(10e9);
    expect([reports(), a?.multicast.size]).toEqual([2, 1]);
    one.qp.detachMcast(GROUP);
    world.runFor(10e9);
    expect([reports(), a?.multicast.size]).toEqual([0, 1]);
    two.qp.destroy();
    world.runFor(10e9);
    expect([reports(), a?.multicast.size]).toEqual([2, 0]);
  });

  it('refuses what cannot be attached, with the errno of verbs', async () => {
    const { devices } = makeLan({ maxMcastGrp: 1, maxMcastQpAttach: 1 });
    const [one, two] = [makeMember(devices[0]), makeMember(devices[0])];
    const rc = one.pd.createQp({
      sendCq: one.qp.core.config.sendCq as never,
      recvCq: one.qp.core.config.recvCq as never,
    });
    expect(await errorOf(rc.attachMcast(GROUP))).toBe('ERR_ROCE_ARGUMENT EINVAL');
    expect(await errorOf(one.qp.attachMcast(IpAddress.parse('10.0.0.2')))).toBe('ERR_ROCE_ARGUMENT EINVAL');
    expect(await errorOf(() => one.qp.detachMcast(GROUP))).toBe('ERR_ROCE_ARGUMENT EINVAL');
    await one.qp.attachMcast(GROUP);
    expect(await errorOf(two.qp.attachMcast(GROUP))).toBe('ERR_ROCE_LIMIT ENOMEM');
    expect(await errorOf(two.qp.attachMcast(IpAddress.parse('239.1.2.4')))).toBe('ERR_ROCE_LIMIT ENOMEM');
    one.qp.detachMcast(GROUP);
    expect(await errorOf(two.qp.attachMcast(GROUP))).toBe('nothing');
    two.qp.destroy();
    expect(await errorOf(two.qp.attachMcast(GROUP))).toBe('ERR_ROCE_CLOSED ENODEV');
  });

  it('on a wire of the kernel asks the host to join and to leave, and says nothing itself', async () => {
    const asked: string[] = [];
    let answer: () => Promise<void> = () => Promise.resolve();
    const make = (groups: boolean): Device =>
      new Device({
        host: {
          now: () => 0,
          wake: () => {},
          ...(groups && {
            joinGroup: (group: IpAddress) => {
              asked.push(`join ${group}`);
              return answer();
            },
            leaveGroup: (group: IpAddress) => {
              asked.push(`leave ${group}`);
            },
          }),
        },
        random: seededRandom(1),
        medium: Medium.Ip,
        mac: parseMac('02:00:00:00:00:01'),
        addresses: [IpPrefix.parse('10.0.0.1/24')],
        mtu: 1500,
      });
    const device = make(true);
    const [one, two] = [makeMember(device), makeMember(device)];
    await Promise.all([one.qp.attachMcast(GROUP), two.qp.attachMcast(GROUP)]);
    one.qp.detachMcast(GROUP);
    two.qp.detachMcast(GROUP);
    expect(asked).toEqual(['join 239.1.2.3', 'leave 239.1.2.3']);
    expect(device.nextDeadline()).toBe(Infinity);
    answer = () => Promise.reject(new RoceError('ERR_ROCE_LINK_UNAVAILABLE', 'no such interface'));
    const joins = Promise.all([one, two].map(({ qp }) => errorOf(qp.attachMcast(GROUP))));
    expect(await joins).toEqual(['ERR_ROCE_LINK_UNAVAILABLE ENODEV', 'ERR_ROCE_LINK_UNAVAILABLE ENODEV']);
    const twice = Promise.all([1, 2].map(() => errorOf(one.qp.attachMcast(GROUP))));
    expect(await twice).toEqual(['ERR_ROCE_LINK_UNAVAILABLE ENODEV', 'ERR_ROCE_LINK_UNAVAILABLE ENODEV']);
    expect(device.multicast.size).toBe(0);
    // Who has left meanwhile is not told.
    const [left, stays] = [one, two].map(({ qp }) => errorOf(qp.attachMcast(GROUP)));
    one.qp.detachMcast(GROUP);
    expect([await left, await stays]).toEqual(['nothing', 'ERR_ROCE_LINK_UNAVAILABLE ENODEV']);
    expect(await errorOf(makeMember(make(false)).qp.attachMcast(GROUP))).toBe('ERR_ROCE_UNSUPPORTED EOPNOTSUPP');
  });
});
