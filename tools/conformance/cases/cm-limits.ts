/** How much a connection manager takes, keeps and carries, and datagram services (ref:conformance#CM). */

import { pattern } from 'rocev2/packets/kit';
import {
  CM_DREP_PRIVATE_DATA_BYTES,
  CM_DREQ_PRIVATE_DATA_BYTES,
  CM_REJ_PRIVATE_DATA_BYTES,
  CM_REP_PRIVATE_DATA_BYTES,
  CM_RTU_PRIVATE_DATA_BYTES,
  CmMessageRef,
  IP_CM_REQ_PRIVATE_DATA_BYTES,
} from 'rocev2/packets/management';
import type { Case } from '../tester/case.ts';
import { sendDreq, sendRtu } from '../tester/cm-connect.ts';
import { rejOf } from '../tester/cm-port.ts';
import { privateDataOf, requestOf, udpService } from '../tester/cm-request.ts';
import { demand } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { accepted, cmEvent, dialed, established, hexOf, listen, repFor, sameTransaction } from './cm-parts.ts';

export const CM_LIMIT_CASES: readonly Case[] = [
  {
    rules: ['CM-19'],
    async run(t) {
      const cm = await t.cm();
      const port = await listen(t, { receives: 1, regionBytes: 64 });
      const seen = new Set<number>();
      for (let i = 0; i < (t.dut.virtual ? 300 : 100); i++) {
        const { one } = await established(t, cm, port);
        demand(!seen.has(one.theirs), `the id 0x${one.theirs.toString(16)} came twice in ${i + 1} connections`);
        seen.add(one.theirs);
        sendDreq(cm, one);
        await cm.rx('DREP', one.ours);
      }
    },
  },
  {
    rules: ['CM-24'],
    async run(t) {
      const cm = await t.cm();
      const port = await listen(t, { udp: true });
      const rep = await lookUp(t, port);
      demand(rep.status === 0, `an offered service draws status ${rep.status}`);
      demand(rep.qpn > 1, `the service is said to be at queue pair ${rep.qpn}`);
      demand(rep.serviceId === udpService(port), 'the SIDR REP is about another service');
      t.note(`Q_Key 0x${rep.qkey.toString(16)}`);
      const none = await lookUp(t, port ^ 1);
      demand(none.status !== 0, 'a service that is not offered draws status 0');
      await cm.sentinel();
    },
  },
  { rules: ['CM-26'], run: flood },
  {
    rules: ['CM-27'],
    title: 'what we send',
    async run(t) {
      const cm = await t.cm();
      const port = await listen(t);
      const mine = pattern(IP_CM_REQ_PRIVATE_DATA_BYTES, 1);
      const { one, peer } = await accepted(t, cm, port, { privateData: privateDataOf(cm.route(), mine) });
      if (t.dut.hostControl !== undefined) await told(t, 'connect-request', mine);
      sendRtu(cm, one, pattern(CM_RTU_PRIVATE_DATA_BYTES, 2));
      await peer.expectNextPsn(0, 1);
      const transactionId = sendDreq(cm, one, {}, pattern(CM_DREQ_PRIVATE_DATA_BYTES, 3));
      sameTransaction(await cm.rx('DREP', one.ours), transactionId);
    },
  },
  { rules: ['CM-27'], title: 'REP, and DREP', needs: ['cm'], run: longAnswers },
  {
    rules: ['CM-27'],
    title: 'REJ of ours',
    needs: ['cm'],
    async run(t) {
      const cm = await t.cm();
      const { req } = await dialed(t, cm);
      const mine = pattern(CM_REJ_PRIVATE_DATA_BYTES, 4);
      const ids = { localCommId: cm.id(), remoteCommId: req.body.localCommId };
      cm.send(rejOf(ids, CmMessageRef.Req, mine), { transactionId: req.transactionId });
      await told(t, 'rejected', mine);
    },
  },
  {
    rules: ['CM-27'],
    title: "REJ of the device's",
    needs: ['cm'],
    async run(t) {
      const cm = await t.cm();
      const theirs = pattern(CM_REJ_PRIVATE_DATA_BYTES, 5);
      const body = requestOf(t, cm.route(), cm.id(), await listen(t, { reject: hexOf(theirs) }));
      const transactionId = cm.send({ kind: 'REQ', body });
      const rej = await cm.rx('REJ', body.localCommId);
      sameTransaction(rej, transactionId);
      demand(rej.body.reason === 28, `the consumer refuses with reason 28, and ${rej.body.reason} came`);
      demand(hexOf(rej.body.privateData) === hexOf(theirs), 'the REJ has other private data than it was given');
    },
  },
];

/** The first bytes of what an event tells must be these. */
async function told(t: Tester, event: string, bytes: Uint8Array): Promise<void> {
  const { privateData = '' } = await cmEvent(t, event);
  demand(
    privateData.startsWith(hexOf(bytes)),
    `${bytes.length} bytes of private data were sent, and the event ${event} tells others`,
  );
}

/** What the device begins: REP with all its private data, DREQ answered by a DREP with all of its. */
async function longAnswers(t: Tester): Promise<void> {
  const cm = await t.cm();
  const mine = pattern(IP_CM_REQ_PRIVATE_DATA_BYTES, 6);
  const { connection, req } = await dialed(t, cm, { privateData: hexOf(mine) });
  const sent = req.body.privateData.subarray(req.body.privateData.length - mine.length);
  demand(hexOf(sent) === hexOf(mine), 'the REQ has other private data than it was given');
  const privateData = pattern(CM_REP_PRIVATE_DATA_BYTES, 7);
  const rep = repFor(t, cm, req, { privateData });
  cm.send({ kind: 'REP', body: rep }, { transactionId: req.transactionId });
  await cm.rx('RTU', rep.localCommId);
  await told(t, 'established', privateData);
  await t.hostControl.call('cm.disconnect', { connection });
  const dreq = await cm.rx('DREQ', rep.localCommId);
  const ids = { localCommId: rep.localCommId, remoteCommId: req.body.localCommId };
  const body = { ...ids, privateData: pattern(CM_DREP_PRIVATE_DATA_BYTES, 8) };
  cm.send({ kind: 'DREP', body }, { transactionId: dreq.transactionId });
  await cmEvent(t, 'disconnected');
}

/** SIDR REQ and its answers. */
async function lookUp(
  t: Tester,
  port: number,
): Promise<{ status: number; qpn: number; qkey: number; serviceId: bigint }> {
  const cm = await t.cm();
  const body = {
    requestId: cm.id(),
    partitionKey: 0xff_ff,
    serviceId: udpService(port),
    privateData: privateDataOf(cm.route()),
  };
  const transactionId = cm.send({ kind: 'SIDR_REQ', body });
  const rep = await cm.rx('SIDR_REP', body.requestId);
  sameTransaction(rep, transactionId);
  return rep.body;
}

/** REQs that are never completed. The device answers others all the while, and takes new connections in the end. */
async function flood(t: Tester): Promise<void> {
  const cm = await t.cm();
  const silent = await listen(t, { mute: true });
  const port = await listen(t);
  const count = 2000;
  const like = requestOf(t, cm.route(), 1, silent);
  for (let i = 0; i < count; i++) {
    const body = { ...like, localCommId: (like.localQpn << 8) + i, localQpn: t.qpn() };
    cm.send({ kind: 'REQ', body });
    if (i % FLOOD_STEP === FLOOD_STEP - 1) await cm.sentinel();
  }
  await cm.sentinel();
  // In virtual time requests that wait for their consumer are given up; with a live device that would take
  // too long.
  if (t.dut.virtual) await t.sleep(LIFETIME_NS);
  const { peer } = await established(t, cm, port);
  await peer.expectNextPsn(0, 1);
  t.note(`${count} REQs`);
}

/** Fewer than a queue pair 1 may have receives. */
const FLOOD_STEP = 100;
const LIFETIME_NS = 300e9;
