/**
 * Area MC: Multicast. Who gets a datagram that is sent to a group. The groups are those that every host is in already,
 * so that the only thing that decides is which queue pairs are attached.
 * Sources: ref:conformance#MC.
 */

import { groupMac } from 'rocev2/host';
import { IpAddress, Medium } from 'rocev2/packets';
import { describePacket, type Packet } from 'rocev2/packets/kit';
import type { Case, Need } from '../tester/case.ts';
import { DUT_QKEY } from '../tester/connect.ts';
import { demand } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { DatagramPeer } from './datagrams.ts';
import { versionsOf } from './line.ts';

const NEEDS: readonly Need[] = ['host-control', 'ud', 'mcast'];

export const MC_CASES: readonly Case[] = [
  { rules: ['MC-01', 'MC-02'], needs: NEEDS, run: attachedOnly },
  { rules: ['MC-03'], needs: NEEDS, run: keysOfEach },
  { rules: ['MC-04'], needs: NEEDS, run: afterDetach },
  { rules: ['MC-05'], needs: NEEDS, run: anyMlid },
  { rules: ['MC-06'], needs: NEEDS, run: unicastAddress },
  { rules: ['MC-07'], needs: NEEDS, run: onTheSendingHost },
];

/** Three queue pairs that are attached and one that is not. */
async function attachedOnly(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const attached = [await member(t, version), await member(t, version), await member(t, version)];
    const other = await DatagramPeer.open(t, { version });
    const packet = toGroup(other, 40);
    send(t, other, packet);
    for (const one of attached) await one.delivered(packet);
    await nothingFor(other);
    for (const one of attached) await nothingFor(one);
  }
}

async function keysOfEach(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const [same, also] = [await member(t, version), await member(t, version)];
    const different = await member(t, version, DUT_QKEY ^ 0x10);
    const packet = toGroup(same, 24);
    send(t, same, packet);
    for (const one of [same, also]) await one.delivered(packet);
    await nothingFor(different);
    const theirs = toGroup(different, 28);
    send(t, different, theirs);
    await different.delivered(theirs);
    send(t, same, { ...packet, pkey: 0x12_34 });
    for (const one of [same, also, different]) await nothingFor(one);
  }
}

async function afterDetach(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const [stays, leaves] = [await member(t, version), await member(t, version)];
    const first = toGroup(stays, 20);
    send(t, stays, first);
    for (const one of [stays, leaves]) await one.delivered(first);
    await t.hostControl.call('mcast.detach', { qp: leaves.peer.qp, group: groupOf(version) });
    const second = toGroup(stays, 36);
    send(t, stays, second);
    await stays.delivered(second);
    await nothingFor(leaves);
  }
}

async function anyMlid(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    for (const mlid of [0, 0xc0_00, 0xc1_23, 0xff_fe]) {
      const end = await DatagramPeer.open(t, { version });
      await t.hostControl.call('mcast.attach', { qp: end.peer.qp, group: groupOf(version), mlid });
      const packet = toGroup(end, 16);
      send(t, end, packet);
      await end.delivered(packet);
      await t.hostControl.call('mcast.detach', { qp: end.peer.qp, group: groupOf(version), mlid });
    }
  }
}

async function unicastAddress(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const end = await member(t, version);
    end.peer.tx(end.message(16, { destQpn: MULTICAST_QPN }));
    const packet = toGroup(end, 44);
    send(t, end, packet);
    await end.delivered(packet);
  }
}

async function onTheSendingHost(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const receiver = await member(t, version);
    const { peer } = await DatagramPeer.open(t, { version });
    const [ah, length] = [t.handle(), 40];
    const { gidIndex } = t.address(version);
    const path = { destination: groupOf(version), sgidIndex: gidIndex };
    await t.hostControl.call('ah.create', { ah, pd: peer.pd, ...path });
    const pieces = [{ mr: t.need(peer.buffers?.mr), offset: 0, length }];
    const to = { ah, remoteQpn: MULTICAST_QPN, remoteQkey: DUT_QKEY };
    await peer.post({ wrId: 1, opcode: 'send', pieces, ...to });
    // Memory of the host is zeroed.
    await receiver.delivered({ ...toGroup(receiver, length), srcQpn: peer.dutQpn, payload: new Uint8Array(length) });
  }
}

/** A queue pair that is attached. */
async function member(t: Tester, version: 4 | 6, qkey = DUT_QKEY): Promise<DatagramPeer> {
  const end = await DatagramPeer.open(t, { version, qkey });
  await t.hostControl.call('mcast.attach', { qp: end.peer.qp, group: groupOf(version) });
  return end;
}

/** What comes next to this queue pair is a datagram of its own, so nothing came before it; nor did it answer. */
async function nothingFor(end: DatagramPeer): Promise<void> {
  await end.ignores();
  demand(end.peer.inbox.length === 0, 'a datagram to a group was answered');
}

const toGroup = (end: DatagramPeer, length: number): Packet =>
  end.message(length, { destQpn: MULTICAST_QPN, destination: groupOf(end.peer.route.source.version) });

/** Sends a packet to its group, at the MAC address of groups. */
function send({ dut }: Tester, { peer }: DatagramPeer, packet: Packet): void {
  const frame = peer.frame(packet);
  if (dut.station.medium === Medium.Ethernet) frame.set(groupMac(IpAddress.parse(packet.destination ?? '')));
  peer.txFrame(frame, describePacket(packet));
}

/** All hosts, all nodes. */
const groupOf = (version: 4 | 6): string => (version === 4 ? '224.0.0.1' : 'ff02::1');
const MULTICAST_QPN = 0xff_ff_ff;
