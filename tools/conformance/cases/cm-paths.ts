/**
 * What RoCEv2 changes in connection management: LIDs mean nothing, in whatever message (ref:conformance#ANX-34 to
 * ANX-38). The suggested path message has no published layout: its number follows that of APR, and its
 * bytes are taken for LAP's.
 */
import { CmMessageRef, type CmPath, type CmReq, CmTransport } from 'rocev2/packets/management';
import type { Case } from '../tester/case.ts';
import { type CmConversation, idsOf, sendRtu } from '../tester/cm-connect.ts';
import { type CmArrival, type CmPort, describeArrival, isKind, rejOf } from '../tester/cm-port.ts';
import { pathOf, requestOf, unknownServiceRequest } from '../tester/cm-request.ts';
import { demand, Inconclusive, NotApplicable } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { accepted, established, listen } from './cm-parts.ts';

export const ANX_CM_CASES: readonly Case[] = [
  {
    rules: ['ANX-34'],
    async run(t) {
      const cm = await t.cm();
      const port = await listen(t);
      for (const [localLid, remoteLid] of LIDS) {
        const primaryPath = pathOf(cm.route(), { localLid, remoteLid });
        const { one, peer } = await accepted(t, cm, port, { primaryPath });
        sendRtu(cm, one);
        await peer.expectNextPsn(0, 1);
      }
    },
  },
  {
    rules: ['ANX-35'],
    async run(t) {
      const seen = await provokeRejections(t);
      for (const reason of [13, 19])
        demand(!seen.has(reason), `REJ ${reason} came for ${seen.get(reason)}: it is about a LID`);
      if (seen.size < 2) throw new Inconclusive(`only ${seen.size} reasons of REJ could be provoked`);
      t.note(`reasons seen: ${[...seen.keys()].join(', ')}`);
    },
  },
  { rules: ['ANX-36'], run: alternatePathLids },
  {
    rules: ['ANX-37'],
    async run(t) {
      const cm = await t.cm();
      const { one, peer } = await established(t, cm, await listen(t));
      await peer.expectNextPsn(0, 1);
      const answers: number[] = [];
      for (const { what, path, remoteQpn } of LAPS) {
        sendLap(cm, one, pathOf(cm.route(), path), remoteQpn);
        const apr = await answerOf(t, cm, one);
        if (apr === undefined) continue;
        demand(isKind(apr, 'APR'), () => `an APR or nothing was expected, and ${describeArrival(apr)} came`);
        demand(apr.body.status !== 7, `${what} drew an APR with status 7, which is about a LID`);
        answers.push(apr.body.status);
      }
      await peer.expectNextPsn(1, 2);
      if (answers.length === 0) throw new NotApplicable('the device answers no LAP');
      t.note(`status seen: ${answers.join(', ')}`);
    },
  },
  {
    rules: ['ANX-38'],
    async run(t) {
      const cm = await t.cm();
      const { one, peer } = await established(t, cm, await listen(t));
      await peer.expectNextPsn(0, 1);
      const path = pathOf(cm.route());
      for (const [i, [localLid, remoteLid]] of LIDS.entries()) {
        const body = lapOf(one, { ...path, localLid, remoteLid });
        const mad = (bytes: Uint8Array): undefined => void bytes.fill(SUGGESTED_PATH, 17, 18);
        cm.send({ kind: 'LAP', body }, { mad });
        await cm.sentinel();
        const arrival = await cm.next(one.ours, t.dut.quietNs);
        demand(
          arrival === undefined,
          () => `a suggested path drew ${arrival === undefined ? '' : describeArrival(arrival)}`,
        );
        await peer.expectNextPsn(1 + i, 2 + i);
      }
    },
  },
];

/** LAPs that differ in their LIDs alone are treated alike, and the connection lives. */
async function alternatePathLids(t: Tester): Promise<void> {
  const cm = await t.cm();
  const port = await listen(t);
  const treatments: string[] = [];
  for (const [localLid, remoteLid] of LIDS) {
    const { one, peer } = await established(t, cm, port);
    await peer.expectNextPsn(0, 1);
    sendLap(cm, one, pathOf(cm.route(), { localLid, remoteLid }));
    const answer = await answerOf(t, cm, one);
    const apr = answer !== undefined && isKind(answer, 'APR') ? ` with status ${answer.body.status}` : '';
    treatments.push(answer === undefined ? 'nothing' : `${describeArrival(answer)}${apr}`);
    await peer.expectNextPsn(1, 2);
  }
  const [first = ''] = treatments;
  for (const [i, [localLid, remoteLid]] of LIDS.entries())
    demand(
      treatments[i] === first,
      `a LAP without LIDs draws ${first}, and one with LIDs ${localLid} and ${remoteLid} ${treatments[i]}`,
    );
  t.note(`a LAP draws ${first}`);
}

/**
 * REQs that are wrong in many ways; which reasons came, and for what. Connections that come about are refused by us.
 */
async function provokeRejections(t: Tester): Promise<Map<number, string>> {
  const cm = await t.cm();
  const port = await listen(t);
  const route = cm.route();
  const { one } = await established(t, cm, port);
  const path = (more: Partial<CmPath>): CmPath => pathOf(route, more);
  const elsewhere = { ...route, source: route.destination, destination: route.source };
  const wrongs: Readonly<Record<string, Partial<CmReq>>> = {
    'an unknown service': { serviceId: unknownServiceRequest(t, route, 0).serviceId },
    'a foreign GID': { primaryPath: pathOf(elsewhere) },
    'LIDs of the primary path': { primaryPath: path({ localLid: 0x12_34, remoteLid: 0x56_78 }) },
    'LIDs of a local path': { primaryPath: path({ localLid: 7, remoteLid: 9, subnetLocal: 1 }) },
    'an alternate path': { alternatePath: path({ localLid: 0x12_34, remoteLid: 0x56_78, localAckTimeout: 14 }) },
    'a foreign alternate path': { alternatePath: pathOf(elsewhere, { localLid: 0xc0_01, remoteLid: 0xc0_02 }) },
    'a service level': { primaryPath: path({ serviceLevel: 15 }) },
    'a hop limit': { primaryPath: path({ hopLimit: 0 }) },
    'a packet rate': { primaryPath: path({ packetRate: 63 }) },
    'an MTU of 0': { pathMtu: 0 },
    'an MTU of 15': { pathMtu: 15 },
    'a reliable datagram': { transportServiceType: CmTransport.Rd },
    'an unknown transport': { transportServiceType: CmTransport.Extended, extendedTransportType: 7 },
    'queue pair 0': { localQpn: 0 },
    'a queue pair in use': { localQpn: one.req.localQpn },
    'no IP CM header': { privateData: new Uint8Array(92).fill(0xff) },
  };
  const seen = new Map<number, string>();
  const asked: { what: string; id: number }[] = [];
  for (const [what, more] of Object.entries(wrongs)) {
    const body = requestOf(t, route, cm.id(), port, more);
    cm.send({ kind: 'REQ', body });
    asked.push({ what, id: body.localCommId });
    await cm.sentinel();
  }
  for (const { what, id } of asked) {
    const arrival = await cm.next(id, t.dut.quietNs);
    if (arrival === undefined) continue;
    if (isKind(arrival, 'REJ')) seen.set(arrival.body.reason, what);
    if (isKind(arrival, 'REP'))
      cm.send(rejOf({ localCommId: id, remoteCommId: arrival.body.localCommId }, CmMessageRef.Rep));
  }
  return seen;
}

function lapOf(one: CmConversation, alternatePath: CmPath, remoteQpn = one.rep.body.localQpn) {
  return { ...idsOf(one), remoteQpn, remoteCmResponseTimeout: 20, alternatePath, privateData: new Uint8Array(0) };
}

function sendLap(cm: CmPort, one: CmConversation, path: CmPath, remoteQpn?: number): void {
  cm.send({ kind: 'LAP', body: lapOf(one, path, remoteQpn) });
}

/** What a message drew; MRAs are passed over. */
async function answerOf(t: Tester, cm: CmPort, one: CmConversation): Promise<CmArrival | undefined> {
  await cm.sentinel();
  for (;;) {
    const arrival = await cm.next(one.ours, t.dut.quietNs);
    if (arrival?.kind !== 'MRA') return arrival;
  }
}

/** The one that says "not known", and others: none, unicast, multicast, odd pairs. */
const LIDS = [
  [0xff_ff, 0xff_ff],
  [0, 0],
  [1, 2],
  [0x12_34, 0x56_78],
  [0xc0_01, 0xff_fe],
  [0xff_ff, 7],
] as const;

const LAPS: readonly { readonly what: string; readonly path: Partial<CmPath>; readonly remoteQpn?: number }[] = [
  { what: 'a LAP', path: {} },
  { what: 'a LAP with LIDs', path: { localLid: 0x12_34, remoteLid: 0x56_78 } },
  { what: 'a LAP with multicast LIDs', path: { localLid: 0xc0_01, remoteLid: 0xc0_02 } },
  { what: 'a LAP for another queue pair', path: {}, remoteQpn: 0x0f_ff_ff },
];

/** Attribute id behind LAP (0x19) and APR (0x1a). */
const SUGGESTED_PATH = 0x1b;
