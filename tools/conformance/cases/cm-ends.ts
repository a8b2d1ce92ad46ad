/** How connections end: DREQ, DREP, TIMEWAIT, and messages without the right to end one (ref:conformance#CM). */
import { CmRejReason } from 'rocev2/packets/management';
import type { Case } from '../tester/case.ts';
import { type CmConversation, idsOf, sendDreq } from '../tester/cm-connect.ts';
import { type CmArrival, type CmPort, describeArrival } from '../tester/cm-port.ts';
import { pathOf } from '../tester/cm-request.ts';
import { demand } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { type Accepted, cmEvent, codeNs, dialed, established, listen, repFor, sameTransaction } from './cm-parts.ts';

export const CM_END_CASES: readonly Case[] = [
  {
    rules: ['CM-04'],
    async run(t) {
      const cm = await t.cm();
      const { one } = await lasting(t, cm);
      await end(cm, one);
      cm.send({ kind: 'REQ', body: one.req }, { transactionId: one.transactionId });
      const rej = await cm.rx('REJ', one.ours);
      demand(
        rej.body.reason === CmRejReason.StaleConnection,
        () => `the REQ of a connection in TIMEWAIT draws REJ 10, and ${describeArrival(rej)} came`,
      );
    },
  },
  {
    rules: ['CM-10'],
    async run(t) {
      const cm = await t.cm();
      const { one, peer } = await lasting(t, cm);
      await peer.expectNextPsn(0, 1);
      const transactionId = await end(cm, one);
      if (t.dut.hostControl !== undefined) await cmEvent(t, 'disconnected');
      await end(cm, one, transactionId);
    },
  },
  { rules: ['CM-10'], title: 'the device ends', needs: ['cm'], run: (t) => endedByDevice(t, false) },
  { rules: ['CM-10'], title: 'the device ends what it began', needs: ['cm'], run: (t) => endedByDevice(t, true) },
  {
    rules: ['CM-11'],
    async run(t) {
      const cm = await t.cm();
      for (const remoteQpn of [0, 0x23_45, 0xff_ff_ff]) {
        const body = { localCommId: cm.id(), remoteCommId: t.random.u32() >>> 0, remoteQpn, privateData: NOTHING };
        const transactionId = cm.send({ kind: 'DREQ', body });
        const drep = await cm.rx('DREP', body.localCommId);
        sameTransaction(drep, transactionId);
        const { localCommId } = drep.body;
        demand(localCommId === body.remoteCommId, `the DREP has id ${localCommId}, and the DREQ ${body.remoteCommId}`);
      }
    },
  },
  {
    rules: ['CM-12'],
    async run(t) {
      const cm = await t.cm();
      const { one, peer } = await established(t, cm, await listen(t));
      await peer.expectNextPsn(0, 1);
      const right = one.rep.body.localQpn;
      for (const remoteQpn of [right ^ 1, 0, 0xff_ff_ff, one.req.localQpn]) {
        cm.send({ kind: 'DREQ', body: { ...idsOf(one), remoteQpn, privateData: NOTHING } });
        await cm.expectSilence(one.ours, `a DREQ for queue pair 0x${remoteQpn.toString(16)}`);
      }
      await peer.expectNextPsn(1, 2);
      await end(cm, one);
    },
  },
  {
    rules: ['CM-13'],
    async run(t) {
      const cm = await t.cm();
      const { one } = await lasting(t, cm);
      const transactionId = await end(cm, one);
      for (let i = 0; i < 3; i++) await end(cm, one, transactionId);
    },
  },
  {
    rules: ['CM-14'],
    async run(t) {
      const cm = await t.cm();
      const { one, peer } = await established(t, cm, await listen(t));
      await peer.expectNextPsn(0, 1);
      cm.send({ kind: 'DREP', body: { ...idsOf(one), privateData: NOTHING } });
      cm.send({ kind: 'DREP', body: { ...idsOf(one), privateData: NOTHING } }, { transactionId: one.transactionId });
      await cm.expectSilence(one.ours, 'an unsolicited DREP');
      await peer.expectNextPsn(1, 2);
      await end(cm, one);
    },
  },
];

/** A connection whose TIMEWAIT outlasts the case. */
async function lasting(t: Tester, cm: CmPort): Promise<Accepted> {
  const port = await listen(t);
  return established(t, cm, port, { primaryPath: pathOf(cm.route(), { localAckTimeout: LONG_TIMEWAIT }) });
}

/** DREQ and the DREP that belongs to it; gives the transaction. */
async function end(cm: CmPort, one: CmConversation, again?: bigint): Promise<bigint> {
  const transactionId = sendDreq(cm, one, again === undefined ? {} : { transactionId: again });
  const drep = await cm.rx('DREP', one.ours);
  sameTransaction(drep, transactionId);
  demand(drep.body.localCommId === one.theirs, 'the DREP has another id than the REP had');
  return transactionId;
}

/** It sends DREQ until we answer, and then it is over. */
async function endedByDevice(t: Tester, began: boolean): Promise<void> {
  const cm = await t.cm();
  const made = began ? await begunByDevice(t, cm) : await begunByUs(t, cm);
  await t.hostControl.call('cm.disconnect', made.which);
  const dreq = await cm.rx('DREQ', made.ours);
  const { localCommId, remoteQpn } = dreq.body;
  demand(localCommId === made.theirs, 'the DREQ has another id than the connection');
  demand(remoteQpn === made.qpn, `the DREQ is for queue pair 0x${remoteQpn.toString(16)}, which is not ours`);
  const ids = { localCommId: made.ours, remoteCommId: made.theirs };
  cm.send({ kind: 'DREP', body: { ...ids, privateData: NOTHING } }, { transactionId: dreq.transactionId });
  await cmEvent(t, 'disconnected');
  cm.drain(made.ours);
  const late = await cm.next(made.ours, 2 * codeNs(SHORT) + t.dut.quietNs);
  demand(late === undefined, () => `the DREQ was answered, and ${describeArrival(late ?? dreq)} came after it`);
  cm.send({ kind: 'DREQ', body: { ...ids, remoteQpn: made.dutQpn, privateData: NOTHING } });
  await cm.rx('DREP', made.ours);
}

interface Made {
  readonly ours: number;
  readonly theirs: number;
  readonly qpn: number;
  readonly dutQpn: number;
  readonly which: { readonly connection: number } | { readonly listener: number };
}

async function begunByUs(t: Tester, cm: CmPort): Promise<Made> {
  const listener = t.handle();
  const port = 19_000 + t.random.below(1000);
  await t.hostControl.call('cm.listen', { listener, port });
  const { one, peer } = await established(t, cm, port, { localCmResponseTimeout: SHORT });
  await cmEvent(t, 'established');
  const { ours, theirs } = one;
  return { ours, theirs, qpn: peer.qpn, dutQpn: peer.dutQpn, which: { listener } };
}

async function begunByDevice(t: Tester, cm: CmPort): Promise<Made> {
  const { connection, req } = await dialed(t, cm);
  const rep = repFor(t, cm, req);
  cm.send({ kind: 'REP', body: rep }, { transactionId: req.transactionId });
  await cm.rx('RTU', rep.localCommId);
  await cmEvent(t, 'established');
  const { localCommId: theirs, localQpn: dutQpn }: CmArrival<'REQ'>['body'] = req.body;
  return { ours: rep.localCommId, theirs, qpn: rep.localQpn, dutQpn, which: { connection } };
}

const NOTHING = new Uint8Array(0);
/** 67 ms: how soon the device has to repeat an unanswered message. */
const SHORT = 14;
/** 4.3 s. */
const LONG_TIMEWAIT = 20;
