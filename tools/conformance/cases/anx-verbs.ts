/**
 * Area ANX, interfaces and congestion management: what the verbs of a RoCEv2 port say, and that notifications are made
 * and obeyed. Sources: ref:conformance#ANX.
 */

import { IpAddress, Op } from 'rocev2/packets';
import { cnp, marked, pattern, writeOnly } from 'rocev2/packets/kit';
import { HostControlError } from '../host-control/host-control.ts';
import type { Case } from '../tester/case.ts';
import { demand, Inconclusive, NotApplicable } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { rates } from './cnp-reaction.ts';
import { DatagramPeer } from './datagrams.ts';
import { flip } from './edits.ts';
import { RequestSequence, versionsOf } from './line.ts';
import { responder, write } from './responder.ts';
import { roceV1 } from './roce-v1.ts';

export const ANX_VERBS_CASES: readonly Case[] = [
  { rules: ['ANX-26'], needs: ['host-control'], run: gidTypes },
  { rules: ['ANX-30'], needs: ['host-control'], run: port },
  { rules: ['ANX-31'], needs: ['host-control'], run: (t) => noEvent(t, ['client-reregister']) },
  { rules: ['ANX-32'], needs: ['host-control'], run: (t) => noEvent(t, ['port-change', 'lid-change', 'sm-change']) },
  { rules: ['ANX-40'], needs: ['host-control'], run: protocolOfConnection },
  { rules: ['ANX-42'], needs: ['host-control', 'ud'], run: protocolOfDatagram },
  { rules: ['ANX-43'], needs: ['host-control', 'ud', 'ethernet'], run: bothProtocols },
  { rules: ['ANX-44'], needs: ['cnp'], run: notifications },
  { rules: ['ANX-45'], needs: ['cnp', 'virtual'], run: slowsDown },
  { rules: ['ANX-46'], needs: ['cnp', 'virtual'], run: recovers },
  { rules: ['ANX-48'], needs: ['host-control', 'ud'], run: reservedLevels },
];

async function gidTypes(t: Tester): Promise<void> {
  const { gids } = t.hostControl.description;
  // The table is in what the host control found before any case.
  t.observe();
  demand(gids.length > 0, 'the table of GIDs is empty');
  for (const { index, address, type } of gids) {
    demand(type === 'v1' || type === 'v2', `GID ${index} has the type ${type}`);
    demand(isAddress(address), `GID ${index} is ${address}, and no address`);
  }
  for (const { address, gidIndex } of t.dut.addresses) {
    const entry = gids.find(({ index }) => index === gidIndex);
    demand(entry?.type === 'v2', `the address ${address} has no GID for RoCEv2`);
    demand(IpAddress.parse(entry.address).equals(address), `GID ${gidIndex} is ${entry.address}, not ${address}`);
  }
}

function isAddress(text: string): boolean {
  try {
    return IpAddress.parse(text).version !== undefined;
  } catch {
    return false;
  }
}

async function port(t: Tester): Promise<void> {
  const { linkLayer, lid, smLid, state, pkeys } = await t.hostControl.call('port.query', {});
  demand(/ethernet/i.test(linkLayer), `the link layer is ${linkLayer}`);
  demand(lid === 0 && smLid === 0, `LID ${lid} and subnet manager ${smLid}, which an Ethernet port has none of`);
  demand(/active/i.test(state), `the state of the port is ${state}`);
  demand(pkeys.length > 0, 'the table of P_Keys is empty');
}

/** Connections that end well and badly: none of these events may come of it. */
async function noEvent(t: Tester, names: readonly string[]): Promise<void> {
  const line = await RequestSequence.open(t);
  await line.accepts(line.write(pattern(8)));
  const { va, rkey } = line.peer.region;
  line.peer.tx(
    writeOnly({ psn: 1, ackReq: true, payload: pattern(8), reth: { va, rkey: rkey ^ 0x5a_5a_00, length: 8 } }),
  );
  await line.peer.expectFatalNak(0x62, 1);
  const { events } = await t.hostControl.call('events', {});
  const wrong = events.find(({ event }) => names.includes(event));
  demand(wrong === undefined, `the event ${wrong?.event} came`);
  t.note(`events: ${events.map(({ event }) => event).join(', ') || 'none'}`);
}

/**
 * Packets of a queue pair on a GID of RoCEv2 are RoCEv2: whatever else they were, the station would not have taken them
 * for an answer.
 */
async function protocolOfConnection(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const ours = await responder(t, { version });
    await ours.post(write(1, 20));
    const [seen] = await ours.sees(0, write(1, 20));
    demand(
      seen?.sighting.ip.version === version,
      `a queue pair of IPv${version} sends IPv${seen?.sighting.ip.version}`,
    );
    ours.peer.ack(0, 1);
    await ours.completes([1]);
  }
  onlyRoceV2(t);
}

async function protocolOfDatagram(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const end = await DatagramPeer.open(t, { version });
    const { sighting, packet } = await end.sends(20);
    demand(
      packet.opcode === Op.UdSendOnly && sighting.ip.version === version,
      `a datagram of IPv${version} was expected`,
    );
  }
  onlyRoceV2(t);
}

const roceGids = (t: Tester): boolean => t.hostControl.description.gids.some(({ type }) => type === 'v1');

function onlyRoceV2(t: Tester): void {
  if (roceGids(t))
    throw new Inconclusive('RoCEv2 is right; GIDs of the older RoCE were not tried: the tester does not support it');
}

async function bothProtocols(t: Tester): Promise<void> {
  if (!roceGids(t)) throw new NotApplicable('the port has no GID of the older RoCE');
  const end = await DatagramPeer.open(t);
  await end.delivers(end.message(20));
  const packet = end.message(24);
  end.peer.txFrame(roceV1(end.peer, packet), 'a datagram in RoCE, EtherType 0x8915');
  await end.delivered(packet);
}

/**
 * Marks on one packet, on ten, on a thousand: at least one notification for each row, and no more than there are marks.
 */
async function notifications(t: Tester): Promise<void> {
  for (const count of [1, 10, 1000]) {
    const line = await RequestSequence.open(t);
    const { peer } = line;
    const reth = line.reth(0);
    for (let psn = 0; psn < count; psn++) peer.tx(marked(writeOnly({ psn, reth, ackReq: psn === count - 1 })));
    let cnps = 0;
    for (let acked = false; !acked || cnps === 0; ) {
      const received = await peer.take();
      demand(received !== undefined, `${count} marked packets drew ${cnps} CNPs${acked ? '' : ', and no ACK'}`);
      const { packet, sighting } = received;
      if (packet.opcode === Op.Cnp) cnps++;
      else if (packet.psn === count - 1) acked = true;
      demand(
        sighting.destQpn === peer.qpn && sighting.ip.destination === `${peer.route.source}`,
        'the CNP does not go to the sender',
      );
    }
    await t.sleep(t.dut.quietNs);
    cnps += peer.drain().filter(({ packet }) => packet.opcode === Op.Cnp).length;
    demand(cnps <= count, `${count} marks drew ${cnps} CNPs`);
    t.note(`${count} marks: ${cnps} CNPs`);
  }
}

async function slowsDown(t: Tester): Promise<void> {
  const [before = 0, after = 0] = await rates(t, [cnp()]);
  demand(after > before, `the gap between packets was ${before} ns before a CNP and ${after} ns after it`);
}

/** Notifications with a wrong ICRC say nothing: the rate goes on recovering. */
async function recovers(t: Tester): Promise<void> {
  const nothing = cnp({ spoil: flip(({ icrc }) => icrc, 0), note: 'ICRC wrong' });
  const [before = 0, slow = 0, ...later] = await rates(t, [cnp(), ...Array.from({ length: 12 }, () => nothing)]);
  if (slow <= before) throw new Inconclusive('a CNP changed no rate');
  const last = later.at(-1) ?? slow;
  demand(last < slow, `the gap between packets was ${slow} ns after a CNP, and is ${last} ns long after it`);
}

/** Refused, or of no consequence. */
async function reservedLevels(t: Tester): Promise<void> {
  const end = await DatagramPeer.open(t);
  for (const sl of [8, 15]) {
    try {
      const { packet } = await end.sends(16, { sl });
      demand(
        packet.opcode === Op.UdSendOnly && packet.payload?.length === 16,
        `with service level ${sl} no datagram was sent`,
      );
      t.note(`service level ${sl} is taken`);
    } catch (error) {
      if (!(error instanceof HostControlError && error.kind === 'refused')) throw error;
      t.note(`service level ${sl} is refused (${error.errno})`);
    }
  }
}
