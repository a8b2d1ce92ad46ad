/**
 * Cases of area CNP whose device receives marked packets: when it sends a notification, and what that looks like
 * (CNP-01, -02, -04 to -08).
 */
import { Op } from 'rocev2/packets';
import { marked, type Packet, pattern, type Sighting, sendOnly, writeOnly } from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { demand, Inconclusive, NotApplicable } from '../tester/outcome.ts';
import type { ReceivedPacket, TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { CNP_REACTION_CASES } from './cnp-reaction.ts';
import { read, responder, send } from './responder.ts';

const CNP_NOTIFICATION_CASES: readonly Case[] = [
  { rules: ['CNP-01'], needs: ['cnp'], run: looksRight },
  { rules: ['CNP-02'], needs: ['cnp'], run: namesTheFlow },
  { rules: ['CNP-04'], needs: ['cnp'], run: answersValidPacketsOnly },
  { rules: ['CNP-05'], run: isSilentWithoutMarks },
  { rules: ['CNP-06'], needs: ['cnp'], run: countsResponses },
  { rules: ['CNP-07'], needs: ['cnp'], run: hasAPace },
  { rules: ['CNP-08'], run: tellsOfGaps },
  { rules: ['CNP-12'], needs: ['host-control', 'cnp'], run: hasItsClass },
];

export const CNP_CASES: readonly Case[] = [...CNP_NOTIFICATION_CASES, ...CNP_REACTION_CASES];

const BTH_BYTES = 12;
const RESERVED_BYTES = 16;
/**
 * Longer than any pace of notifications that devices keep, which are microseconds: the pace may be one of the whole
 * port (CNP-07), and a flow must not pay for the CNP of another.
 */
const PACE_NS = 10e6;

/** A request that changes nothing. */
const probe = (peer: TesterPeer, psn: number, more: Partial<Packet> = {}): Packet => ({
  ...writeOnly({ psn, ackReq: true, reth: { va: peer.region.va, rkey: peer.region.rkey, length: 0 } }),
  ...more,
});

/** The ACK of `psn` and a CNP come, in any order. */
async function notifiedAndAcked(peer: TesterPeer, psn: number): Promise<ReceivedPacket> {
  const both = [await peer.take(), await peer.take()];
  const notification = both.find((one) => one?.packet.opcode === Op.Cnp);
  const acknowledge = both.find((one) => one?.packet.opcode === Op.Acknowledge && one.packet.psn === psn);
  if (acknowledge === undefined) throw new Inconclusive('a marked packet was not acknowledged');
  demand(notification !== undefined, 'a packet that came marked drew no CNP');
  return notification;
}

async function looksRight(t: Tester): Promise<void> {
  for (const { address } of t.dut.addresses) {
    const peer = await t.connect({ version: address.version });
    peer.tx(marked(sendOnly({ psn: 0, ackReq: true, payload: pattern(100) })));
    const { sighting } = await notifiedAndAcked(peer, 0);
    isNotification(sighting, peer);
    await t.sleep(PACE_NS);
  }
}

/** In the traffic class of IPv4 and of IPv6. */
async function hasItsClass(t: Tester): Promise<void> {
  const { cnpDscp } = t.hostControl.description;
  if (cnpDscp === undefined) throw new NotApplicable('host control does not know the DSCP of CNPs');
  for (const { address } of t.dut.addresses) {
    const peer = await t.connect({ version: address.version });
    peer.tx(marked(probe(peer, 0)));
    const { sighting } = await notifiedAndAcked(peer, 0);
    const dscp = sighting.ip.trafficClass >> 2;
    demand(dscp === cnpDscp, `CNPs are set to DSCP ${cnpDscp}, and this one has ${dscp}`);
    await t.sleep(PACE_NS);
  }
}

function isNotification(sighting: Sighting, peer: TesterPeer): void {
  const { bytes, at } = sighting;
  const bth = bytes.slice(at.bth, at.bth + BTH_BYTES);
  const byte = (i: number): number => bth[i] ?? -1;
  demand(byte(0) === 0x81, `the opcode is 0x${byte(0).toString(16)}`);
  demand((byte(1) & 0x80) === 0, 'SE is set');
  demand((byte(1) & 0x40) === 0, 'M is set');
  demand((byte(1) & 0x3f) === 0, 'pad count or transport version is not 0');
  demand(sighting.psn === 0, `the PSN is ${sighting.psn}`);
  demand((byte(8) & 0x80) === 0, 'AckReq is set');
  demand(sighting.destQpn === peer.qpn, `it is for queue pair 0x${sighting.destQpn.toString(16)}`);
  const length = at.icrc - at.bth - BTH_BYTES;
  demand(length === RESERVED_BYTES, `${length} bytes follow the BTH, not 16`);
  const reserved = bytes.slice(at.bth + BTH_BYTES, at.icrc);
  demand(
    reserved.every((one) => one === 0),
    'the reserved bytes are not zero',
  );
  demand(sighting.icrc === 'good', 'the ICRC is wrong');
}

async function namesTheFlow(t: Tester): Promise<void> {
  const peers = [await t.connect(), await t.connect()];
  for (const [i, peer] of peers.entries()) {
    const pkey = i === 0 ? 0xff_ff : 0x7f_ff;
    peer.tx(marked(probe(peer, 0, { pkey })));
    const { sighting } = await notifiedAndAcked(peer, 0);
    demand(sighting.destQpn === peer.qpn, 'the CNP is for another queue pair than the one that sent the marked packet');
    demand(
      sighting.pkey === pkey,
      () => `the marked packet had P_Key 0x${pkey.toString(16)}, the CNP has 0x${sighting.pkey.toString(16)}`,
    );
    await t.sleep(PACE_NS);
  }
  for (const peer of peers) await peer.expectNextPsn(1, 2);
}

async function answersValidPacketsOnly(t: Tester): Promise<void> {
  const peer = await t.connect();
  const strays = t.dut.station.strays.length;
  const wrong: readonly Partial<Packet>[] = [
    { spoil: flipIcrc, note: 'ICRC wrong' },
    { destQpn: peer.dutQpn ^ 0x20_00_00 },
    { pkey: 0x80_01 },
    { tver: 1 },
  ];
  for (const [i, how] of wrong.entries()) {
    peer.tx(marked(probe(peer, i, how)));
    await peer.expectNextPsn(i, i + 1);
  }
  await peer.expectSilence();
  demand(t.dut.station.strays.length === strays, 'a packet for an unknown queue pair drew an answer');
  peer.tx(marked(probe(peer, wrong.length)));
  await notifiedAndAcked(peer, wrong.length);
}

function flipIcrc({ bytes, icrc }: { readonly bytes: Uint8Array; readonly icrc: number }): undefined {
  bytes[icrc] = (bytes[icrc] ?? 0) ^ 1;
}

async function isSilentWithoutMarks(t: Tester): Promise<void> {
  for (const { address } of t.dut.addresses) {
    const peer = await t.connect({ version: address.version });
    let psn = 0;
    for (const trafficClass of [0b00, 0b01, 0b10, (26 << 2) | 0b10, (48 << 2) | 0b01, 63 << 2]) {
      peer.tx(sendOnly({ psn, ackReq: true, payload: pattern(64), trafficClass }));
      await peer.expectAck(psn, psn + 1);
      psn++;
      await peer.expectNextPsn(psn, psn + 1);
      psn++;
    }
    await peer.expectSilence();
  }
}

async function countsResponses(t: Tester): Promise<void> {
  const r = await responder(t);
  await r.post(read(1, 700));
  const [request] = await r.sees(0, read(1, 700));
  if (request === undefined) throw new Inconclusive('there is no READ');
  r.peer.tx(...r.responsesTo(request.packet, 1).map(marked));
  const { sighting } = await r.peer.rx({ opcode: Op.Cnp });
  demand(sighting.destQpn === r.peer.qpn, 'the CNP is for another queue pair');
  await r.completes([1]);
  await r.readIsRight(read(1, 700));
  await t.sleep(PACE_NS);
  const other = await responder(t);
  await other.post(send(1));
  await other.sees(0, send(1));
  other.peer.tx(marked({ opcode: Op.Acknowledge, psn: 0, syndrome: 0x1f, msn: 1 }));
  await other.peer.rx({ opcode: Op.Cnp });
  await other.completes([1]);
}

async function hasAPace(t: Tester): Promise<void> {
  const versions = t.dut.addresses.map(({ address }) => address.version);
  const all: TesterPeer[] = [];
  // One after the other: there is one port for the connection manager.
  for (let i = 0; i < 4; i++) all.push(await t.connect({ version: versions[i % versions.length] ?? 4 }));
  const times: { at: number; flow: number; version: 4 | 6 }[] = [];
  for (let psn = 0; psn < 250; psn++) {
    for (const peer of all) peer.tx(marked(probe(peer, psn, { ackReq: psn === 249 })));
    await t.sleep(4000);
    for (const [flow, peer] of all.entries())
      for (const { packet, sighting } of peer.drain())
        if (packet.opcode === Op.Cnp) times.push({ at: sighting.timeNs, flow, version: sighting.ip.version });
  }
  demand(times.length > 0, '1000 marks drew no CNP');
  times.sort((a, b) => a.at - b.at);
  const ofFlow = all.map((_, flow) => gaps(times.filter((one) => one.flow === flow)));
  const ofPair = [4, 6].map((version) => gaps(times.filter((one) => one.version === version)));
  const least = Math.min(...ofFlow.flat());
  const scope = [
    ['per port', [gaps(times)]],
    ['per pair of addresses', ofPair],
    ['per flow', ofFlow],
  ] as const;
  const [name = 'not at all'] = scope.find(([, lists]) => Math.min(...lists.flat()) >= 0.9 * least) ?? [];
  t.note(`${times.length} CNPs for 1000 marks, paced ${name}, at least ${Math.round(least / 1e3)} us apart`);
  if (!t.dut.virtual || least === Number.POSITIVE_INFINITY) return;
  const most = Math.max(...ofFlow.flat());
  demand(most <= 2 * least, `the interval is between ${least} and ${most} ns in one run`);
}

const gaps = (times: readonly { readonly at: number }[]): number[] =>
  times.slice(1).map(({ at }, i) => at - (times[i]?.at ?? 0));

async function tellsOfGaps(t: Tester): Promise<void> {
  const peer = await t.connect();
  peer.tx(probe(peer, 1));
  await peer.orInconclusive('a gap', async () => {
    const first = await peer.take();
    demand(first !== undefined, 'a gap drew nothing');
    const second = await peer.take(t.dut.quietNs);
    const seen = [first.packet.opcode, second?.packet.opcode];
    demand(seen.includes(Op.Acknowledge), 'a gap drew no NAK');
    if (seen.includes(Op.Cnp)) t.variation('a sequence NAK is accompanied by a CNP');
  });
  await peer.expectNextPsn(0, 1);
}
