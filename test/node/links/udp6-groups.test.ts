/**
 * Goal: on a wire of the kernel the kernel joins multicast groups, and what was sent to one is known by its rebuilt
 * header. Method: two namespaces, a device in each through a UDP socket, datagrams to a group from one to both.
 */
import { expect, it } from 'vitest';
import { readGrh } from '../../../packets/grh.ts';
import { Access, IpAddress, type OpenDevice, openDevice, QpState, QpType, WrOpcode } from '../../../src/index.ts';
import { makeNetnsPair, type Netns } from '../../../tools/netns.ts';
import { describeWith } from '../../support/need.ts';
import { within } from '../../support/netns.ts';

const GROUP = IpAddress.parse('ff3e::77');
const QKEY = 0x0123_4567;

function makeMember({ device }: OpenDevice) {
  const pd = device.allocPd();
  const cq = device.createCq(16);
  const qp = pd.createQp({ type: QpType.Ud, sendCq: cq, recvCq: cq });
  qp.modifyNow({ state: QpState.Init, qkey: QKEY });
  qp.modifyNow({ state: QpState.Rtr });
  qp.modifyNow({ state: QpState.Rts, sqPsn: 0 });
  const mr = pd.regMr(256, { access: Access.LocalWrite });
  for (const wrId of [1, 2, 3, 4]) qp.postRecv({ wrId, sges: [{ mr }] });
  return { pd, cq, qp, mr };
}

/** How often the kernel is in the group there. */
function memberships(netns: Netns): number {
  return netns.exec('cat', '/proc/net/igmp6').split('ff3e0000000000000000000000000077').length - 1;
}

describeWith('netns', 'groups of udp6', () => {
  it('are joined and left by the kernel; a datagram reaches both hosts, the sender too', async () => {
    const pair = makeNetnsPair({ mtu: 4200 });
    const open = (netns: Netns, address: string): Promise<OpenDevice> =>
      within(netns, () => openDevice({ link: `udp6:[${address}]` }));
    const [a, b] = [await open(pair.a, 'fd99::1'), await open(pair.b, 'fd99::2')];
    try {
      const [left, right] = [makeMember(a), makeMember(b)];
      await within(pair.a, () => left.qp.attachMcast(GROUP));
      await within(pair.b, () => right.qp.attachMcast(GROUP));
      const ah = await left.pd.createAh({ destination: GROUP });
      const send = (): void =>
        left.qp.postSend({
          wrId: 9,
          opcode: WrOpcode.Send,
          inline: Uint8Array.of(7),
          signaled: false,
          ah,
          remoteQpn: 0xff_ff_ff,
        });
      const [there, here] = [right.cq.next(), left.cq.next()];
      send();
      for (const { value } of [await there, await here])
        expect(value).toMatchObject({ wrId: 1, byteLen: 41, srcQpn: left.qp.qpn });
      expect(`${readGrh(right.mr.view, 0).destinationGid}`).toBe(`${GROUP}`);
      expect(right.mr.bytes[40]).toBe(7);
      right.qp.detachMcast(GROUP);
      expect(b.device.multicast.size).toBe(0);
    } finally {
      await Promise.all([a.close(), b.close()]);
      pair.remove();
    }
  });

  it('that are left before they are joined are not joined, and may be joined again at once', async () => {
    const pair = makeNetnsPair({ mtu: 1500 });
    const a = await within(pair.a, () => openDevice({ link: 'udp6:[fd99::1]' }));
    try {
      const { qp } = makeMember(a);
      const joins = within(pair.a, async () => {
        const first = qp.attachMcast(GROUP);
        qp.detachMcast(GROUP);
        return Promise.all([first, qp.attachMcast(GROUP)]);
      });
      await joins;
      expect([a.device.multicast.size, memberships(pair.a)]).toEqual([1, 1]);
      qp.detachMcast(GROUP);
      // Once more, and the last word is that it is left.
      const left = within(pair.a, () => {
        const joining = qp.attachMcast(GROUP);
        qp.detachMcast(GROUP);
        return joining;
      });
      await left;
      expect([a.device.multicast.size, memberships(pair.a)]).toEqual([0, 0]);
    } finally {
      await a.close();
      pair.remove();
    }
  });

  it('of IPv4 are not of this link', async () => {
    const pair = makeNetnsPair({ mtu: 1500 });
    const a = await within(pair.a, () => openDevice({ link: 'udp6:[fd99::1]' }));
    try {
      const joining = makeMember(a).qp.attachMcast(IpAddress.parse('239.1.1.1'));
      await expect(joining).rejects.toMatchObject({ code: 'ERR_ROCE_ADDRESS' });
      expect(a.device.multicast.size).toBe(0);
    } finally {
      await a.close();
      pair.remove();
    }
  });
});
