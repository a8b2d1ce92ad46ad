/** Connections that the device begins, and what its messages say (ref:conformance#CM). */

import { pattern } from 'rocev2/packets/kit';
import { CmMessageRef, type CmRep, IP_CM_HEADER_BYTES, readIpCmHeader } from 'rocev2/packets/management';
import type { Case } from '../tester/case.ts';
import { sendDreq } from '../tester/cm-connect.ts';
import { describeArrival } from '../tester/cm-port.ts';
import { requestOf } from '../tester/cm-request.ts';
import { demand } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { codeNs, dialed, established, hexOf, listen, repFor, sameTransaction } from './cm-parts.ts';

export const CM_ACTIVE_CASES: readonly Case[] = [
  {
    rules: ['CM-06'],
    needs: ['cm'],
    async run(t) {
      const cm = await t.cm();
      const { req } = await dialed(t, cm);
      const rep = repFor(t, cm, req);
      for (let i = 0; i < 3; i++) {
        cm.send({ kind: 'REP', body: rep }, { transactionId: req.transactionId });
        const rtu = await cm.rx('RTU', rep.localCommId);
        demand(rtu.body.localCommId === req.body.localCommId, 'the RTU has another id than the REQ had');
      }
    },
  },
  {
    rules: ['CM-07'],
    async run(t) {
      const cm = await t.cm();
      const { peer } = await established(t, cm, await listen(t));
      await peer.expectNextPsn(0, 1);
      await unknownRep(t);
      await peer.expectNextPsn(1, 2);
    },
  },
  {
    rules: ['CM-07'],
    title: 'while the device waits for another',
    needs: ['cm'],
    async run(t) {
      const cm = await t.cm();
      const { req } = await dialed(t, cm);
      await unknownRep(t);
      const rep = repFor(t, cm, req);
      cm.send({ kind: 'REP', body: rep }, { transactionId: req.transactionId });
      await cm.rx('RTU', rep.localCommId);
    },
  },
  { rules: ['CM-18'], run: answersBelong },
  { rules: ['CM-18'], title: 'the device begins', needs: ['cm'], run: ownBelong },
  { rules: ['CM-21'], title: 'the first repetition', needs: ['cm'], run: (t) => repetitions(t, 1) },
  { rules: ['CM-21'], needs: ['cm', 'virtual'], run: (t) => repetitions(t, Number.POSITIVE_INFINITY) },
  { rules: ['CM-21'], title: 'put off by an MRA', needs: ['cm', 'virtual'], run: putOff },
  { rules: ['CM-23'], needs: ['cm'], run: ipCmHeader },
];

/** A REP for an unknown connection. */
async function unknownRep(t: Tester): Promise<void> {
  const cm = await t.cm();
  const localCommId = cm.id();
  const like = requestOf(t, cm.route(), 0, 0);
  const body: CmRep = {
    ...{ localCommId, remoteCommId: t.random.u32() >>> 0, localQkey: 0, localQpn: like.localQpn, localEecn: 0 },
    ...{ startingPsn: 0, vendorId: 0, responderResources: 1, initiatorDepth: 1, targetAckDelay: 0 },
    ...{ failoverAccepted: 0, endToEndFlowControl: 0, rnrRetryCount: 7, srq: 0, localCaGuid: like.localCaGuid },
    privateData: new Uint8Array(0),
  };
  cm.send({ kind: 'REP', body });
  await cm.sentinel();
  const arrival = await cm.next(localCommId, t.dut.quietNs);
  if (arrival === undefined) return;
  demand(arrival.kind === 'REJ', () => `silence was expected for an unknown REP, and ${describeArrival(arrival)} came`);
  t.note(`a REP with an unknown id draws ${describeArrival(arrival)}`);
}

/** REP, REJ and DREP of the device: they carry the ids of their connection. */
async function answersBelong(t: Tester): Promise<void> {
  const cm = await t.cm();
  const rej = await cm.sentinel();
  demand(rej.body.localCommId === 0, 'a REJ for a REQ of which nothing is kept has an id of its own');
  const { one } = await established(t, cm, await listen(t));
  sameTransaction(one.rep, one.transactionId);
  demand(one.theirs !== 0, 'the REP has no id of its own');
  const transactionId = sendDreq(cm, one);
  const drep = await cm.rx('DREP', one.ours);
  sameTransaction(drep, transactionId);
  demand(drep.body.localCommId === one.theirs, 'the DREP has another id than the REP');
}

async function ownBelong(t: Tester): Promise<void> {
  const cm = await t.cm();
  const { req } = await dialed(t, cm);
  const rep = repFor(t, cm, req);
  cm.send({ kind: 'REP', body: rep }, { transactionId: req.transactionId });
  const rtu = await cm.rx('RTU', rep.localCommId);
  sameTransaction(rtu, req.transactionId);
  demand(rtu.body.localCommId === req.body.localCommId, 'the RTU has another id than the REQ had');
}

/** Without an answer the same REQ is sent again after the time that it says, as often as it says. */
async function repetitions(t: Tester, most: number): Promise<void> {
  const cm = await t.cm();
  const { req, port } = await dialed(t, cm);
  const { serviceId, maxCmRetries, remoteCmResponseTimeout } = req.body;
  const interval = codeNs(remoteCmResponseTimeout);
  let last = req;
  let count = 0;
  for (; count < most; count++) {
    const again = await cm.nextRequest(serviceId, 3 * interval);
    if (again === undefined) break;
    sameTransaction(again, req.transactionId);
    const after = again.sighting.timeNs - last.sighting.timeNs;
    demand(
      after > interval / 2 && after < 3 * interval,
      `the REQ says ${(interval / 1e9).toFixed(1)} s, and was repeated after ${(after / 1e9).toFixed(1)} s`,
    );
    last = again;
  }
  const wanted = Math.min(most, maxCmRetries);
  demand(count === wanted, `the REQ to port ${port} was repeated ${count} times, and not ${wanted} times`);
}

/** An MRA asks for time: the service timeout that it names, on top of the response timeout. */
async function putOff(t: Tester): Promise<void> {
  const cm = await t.cm();
  const { req } = await dialed(t, cm);
  const { serviceId, localCommId, remoteCmResponseTimeout } = req.body;
  const serviceTimeout = remoteCmResponseTimeout + 2;
  const body = { localCommId: cm.id(), remoteCommId: localCommId, messageMraed: CmMessageRef.Req, serviceTimeout };
  cm.send({ kind: 'MRA', body: { ...body, privateData: new Uint8Array(0) } }, { transactionId: req.transactionId });
  const asked = codeNs(serviceTimeout);
  const again = await cm.nextRequest(serviceId, 3 * asked);
  const after = again === undefined ? asked : again.sighting.timeNs - req.sighting.timeNs;
  demand(
    after >= asked,
    `an MRA asked for ${(asked / 1e9).toFixed(1)} s, and the REQ was repeated after ${(after / 1e9).toFixed(1)} s`,
  );
}

async function ipCmHeader(t: Tester): Promise<void> {
  const cm = await t.cm();
  for (const { address } of t.dut.addresses) {
    const mine = pattern(20, 7);
    const { req } = await dialed(t, cm, { privateData: hexOf(mine) }, address.version);
    const { privateData } = req.body;
    const view = new DataView(privateData.buffer, privateData.byteOffset, privateData.length);
    demand(view.getUint8(0) === 0, `the IP CM header has version ${view.getUint8(0).toString(16)}, and not 0.0`);
    const header = readIpCmHeader(view, 0);
    demand(header !== undefined, 'the private data of the REQ does not begin with an IP CM header');
    const { ip } = req.sighting;
    const [source, destination] = [header.source.toString(), header.destination.toString()];
    demand(
      source === ip.source && destination === ip.destination,
      `the IP CM header says ${source} to ${destination}, and the packet ${ip.source} to ${ip.destination}`,
    );
    demand(header.sourcePort !== 0, 'the IP CM header has no source port');
    const behind = privateData.subarray(IP_CM_HEADER_BYTES, IP_CM_HEADER_BYTES + mine.length);
    demand(hexOf(behind) === hexOf(mine), 'behind the IP CM header there is not the private data that was given');
  }
}
