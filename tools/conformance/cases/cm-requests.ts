/** Connections that begin with us: the answers to a REQ, and what of it a device takes over (ref:conformance#CM). */
import { IpAddress } from 'rocev2/packets';
import { ack, sendOnly } from 'rocev2/packets/kit';
import { CmMessageRef, CmRejReason, MAD_BYTES } from 'rocev2/packets/management';
import type { Case } from '../tester/case.ts';
import { sendRtu } from '../tester/cm-connect.ts';
import { type CmPort, describeArrival, isKind, rejOf } from '../tester/cm-port.ts';
import { pathOf, requestOf, unknownServiceRequest } from '../tester/cm-request.ts';
import { demand, NotApplicable, Violation } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import {
  accepted,
  cmEvent,
  codeNs,
  dialed,
  established,
  listen,
  peerOfDialed,
  repFor,
  sameTransaction,
} from './cm-parts.ts';

export const CM_REQUEST_CASES: readonly Case[] = [
  {
    rules: ['CM-01'],
    async run(t) {
      const cm = await t.cm();
      const unused = requestOf(t, cm.route(), cm.id(), 61_000 + t.random.below(4000));
      for (const body of [unused, unknownServiceRequest(t, cm.route(), cm.id())]) {
        const transactionId = cm.send({ kind: 'REQ', body });
        const rej = await cm.rx('REJ', body.localCommId);
        sameTransaction(rej, transactionId);
        const { reason, messageRejected } = rej.body;
        demand(reason === CmRejReason.InvalidServiceId, () => `REJ 8 was expected, and ${describeArrival(rej)} came`);
        demand(messageRejected === 0, `the REJ says that it refuses message ${messageRejected}, and not the REQ`);
      }
    },
  },
  { rules: ['CM-02'], run: repeatedWhileItIsAnswered },
  {
    rules: ['CM-02'],
    title: 'before it is accepted or rejected',
    async run(t) {
      await repeatedBeforeDecision(t);
    },
  },
  {
    rules: ['CM-03'],
    async run(t) {
      const mras = await repeatedBeforeDecision(t);
      if (mras === 0) throw new NotApplicable('the device sends no MRA');
      demand(mras > 1, 'a REQ was repeated three times, and drew an MRA only the last time');
    },
  },
  { rules: ['CM-05'], run: staleByReq },
  { rules: ['CM-05'], title: 'a REP that names it', needs: ['cm'], run: staleByRep },
  {
    rules: ['CM-08'],
    async run(t) {
      const cm = await t.cm();
      const { one, peer } = await established(t, cm, await listen(t));
      await peer.expectNextPsn(0, 1);
      sendRtu(cm, one);
      sendRtu(cm, one);
      await cm.expectSilence(one.ours, 'a second RTU');
      await peer.expectNextPsn(1, 2);
      // Who had forgotten the connection would take its REQ for a new one.
      cm.send({ kind: 'REQ', body: one.req }, { transactionId: one.transactionId });
      await cm.expectSilence(one.ours, 'the REQ of a connection that lives');
      if (t.dut.hostControl === undefined) return;
      const { events } = await t.hostControl.call('cm.events', {});
      const told = events.filter(({ event }) => event === 'established').length;
      demand(told === 1, `the connection was reported as established ${told} times`);
    },
  },
  {
    rules: ['CM-09'],
    needs: ['cm'],
    async run(t) {
      const cm = await t.cm();
      const { peer } = await accepted(t, cm, await listen(t));
      await peer.expectNextPsn(0, 1);
      await cmEvent(t, 'established');
    },
  },
  {
    rules: ['CM-15'],
    async run(t) {
      const cm = await t.cm();
      const port = await listen(t);
      for (const version of versionsOf(t)) {
        const route = cm.route(version);
        const foreign = pathOf({ ...route, destination: STRANGERS[version] });
        const body = requestOf(t, route, cm.id(), port, { primaryPath: foreign });
        cm.send({ kind: 'REQ', body }, { version });
        const rej = await cm.rx('REJ', body.localCommId);
        demand(
          rej.body.reason === CmRejReason.InvalidGid,
          () => `REJ 12 was expected, and ${describeArrival(rej)} came`,
        );
      }
    },
  },
  {
    rules: ['CM-16'],
    async run(t) {
      const cm = await t.cm();
      const port = await listen(t);
      for (const [responderResources, initiatorDepth] of [
        [4, 2],
        [2, 4],
        [0, 1],
        [1, 0],
      ] as const) {
        const { one } = await established(t, cm, port, { responderResources, initiatorDepth });
        const rep = one.rep.body;
        demand(
          rep.initiatorDepth <= responderResources && rep.responderResources <= initiatorDepth,
          `REQ with resources ${responderResources} and depth ${initiatorDepth}: the REP says resources ` +
            `${rep.responderResources} and depth ${rep.initiatorDepth}`,
        );
      }
    },
  },
  { rules: ['CM-17'], run: firstPsnOfAccepted },
  { rules: ['CM-17'], title: 'the device begins', needs: ['cm'], run: firstPsnOfDialed },
  {
    rules: ['CM-22'],
    async run(t) {
      const cm = await t.cm();
      const port = await listen(t);
      for (const version of [3, 1, 0, 255]) {
        const body = requestOf(t, cm.route(), cm.id(), port);
        const mad = (bytes: Uint8Array): undefined => void bytes.fill(version, 2, 3);
        cm.send({ kind: 'REQ', body }, { mad });
        await cm.sentinel();
        const arrival = await cm.next(body.localCommId, t.dut.quietNs);
        const right =
          arrival === undefined || (isKind(arrival, 'REJ') && arrival.body.reason === CmRejReason.InvalidClassVersion);
        demand(right, () => `class version ${version}: ${arrival === undefined ? '' : describeArrival(arrival)} came`);
      }
    },
  },
  { rules: ['CM-25'], hazardous: true, run: (t) => dropped(t, ['255 bytes', '0 bytes', 'another Q_Key', 'Q_Key 0']) },
  { rules: ['CM-25'], title: 'too long', hazardous: true, run: (t) => dropped(t, ['257 bytes', '1024 bytes']) },
  {
    rules: ['CM-20'],
    async run(t) {
      const cm = await t.cm();
      const port = await listen(t);
      for (const version of versionsOf(t)) {
        const { one, peer } = await established(t, cm, port, {}, { version });
        const { ip } = one.rep.sighting;
        demand(ip.version === version, `a REQ over IPv${version} was answered over IPv${ip.version}`);
        const address = t.address(version).address.toString();
        demand(ip.source === address, `a REQ to ${address} was answered by ${ip.source}`);
        await peer.expectNextPsn(0, 1);
      }
    },
  },
  {
    rules: ['CM-20'],
    title: 'the device begins',
    needs: ['cm'],
    async run(t) {
      const cm = await t.cm();
      for (const version of versionsOf(t)) {
        const { req } = await dialed(t, cm, {}, version);
        const { ip } = req.sighting;
        const ours = t.address(version).ours.toString();
        demand(
          ip.version === version && ip.destination === ours,
          `a connection to ${ours} began with a REQ over IPv${ip.version} to ${ip.destination}`,
        );
        const body = repFor(t, cm, req);
        cm.send({ kind: 'REP', body }, { transactionId: req.transactionId, version });
        const rtu = await cm.rx('RTU', body.localCommId);
        demand(rtu.sighting.ip.version === version, `the RTU came over IPv${rtu.sighting.ip.version}`);
      }
    },
  },
];

async function repeatedWhileItIsAnswered(t: Tester): Promise<void> {
  const cm = await t.cm();
  const req = requestOf(t, cm.route(), cm.id(), await listen(t));
  const transactionId = cm.send({ kind: 'REQ', body: req });
  cm.send({ kind: 'REQ', body: req }, { transactionId });
  const first = await cm.rx('REP', req.localCommId);
  cm.send({ kind: 'REQ', body: req }, { transactionId });
  await cm.sentinel();
  // The device repeats its REP after 4 s only: we say so in the REQ.
  const second = await cm.next(req.localCommId, Math.min(t.dut.quietNs, codeNs(req.localCmResponseTimeout) / 4));
  const fine = second === undefined || second.kind === 'MRA';
  demand(
    fine,
    () => `one REP was expected for three equal REQs, and ${describeArrival(second ?? first)} came after it`,
  );
  cm.send(rejOf({ localCommId: req.localCommId, remoteCommId: first.body.localCommId }, CmMessageRef.Rep));
}

/** Count of MRAs that repeated REQs drew: none is needed, but ib_core sends one in this state, and so does our CM. */
async function repeatedBeforeDecision(t: Tester): Promise<number> {
  const cm = await t.cm();
  const req = requestOf(t, cm.route(), cm.id(), await listen(t, { mute: true }));
  const transactionId = cm.send({ kind: 'REQ', body: req });
  await cmEvent(t, 'connect-request');
  let mras = 0;
  for (let i = 0; i < 3; i++) {
    cm.send({ kind: 'REQ', body: req }, { transactionId });
    await cm.sentinel();
    const arrival = await cm.next(req.localCommId, t.dut.quietNs);
    if (arrival === undefined) {
      demand(mras === 0, 'a repeated REQ drew an MRA once and not again');
      continue;
    }
    demand(isKind(arrival, 'MRA'), () => `nothing or an MRA was expected, and ${describeArrival(arrival)} came`);
    sameTransaction(arrival, transactionId);
    demand(arrival.body.messageMraed === 0, `the MRA is for message ${arrival.body.messageMraed}, and not for the REQ`);
    mras++;
  }
  const { events } = await t.hostControl.call('cm.events', {});
  demand(events.length === 0, `a repeated REQ was reported as ${events[0]?.event}`);
  return mras;
}

/** REJ 10, DREQ until DREP. What TIMEWAIT does with the old REQ is checked by CM-04. */
async function staleByReq(t: Tester): Promise<void> {
  const cm = await t.cm();
  const port = await listen(t);
  const { one: old, peer } = await established(t, cm, port, { localCmResponseTimeout: SHORT });
  await peer.expectNextPsn(0, 1);
  const { localQpn } = old.req;
  const body = requestOf(t, cm.route(), cm.id(), port, { localQpn });
  const transactionId = cm.send({ kind: 'REQ', body });
  const rej = await cm.rx('REJ', body.localCommId);
  sameTransaction(rej, transactionId);
  demand(
    rej.body.reason === CmRejReason.StaleConnection,
    () => `REJ 10 was expected, and ${describeArrival(rej)} came`,
  );
  await expectDreq(t, cm, old.ours, { theirs: old.theirs, localQpn });
  if (t.dut.hostControl !== undefined) await cmEvent(t, 'disconnected');
}

async function staleByRep(t: Tester): Promise<void> {
  const cm = await t.cm();
  const short = { localCmResponseTimeout: SHORT };
  const { one: old, peer } = await established(t, cm, await listen(t), short);
  await peer.expectNextPsn(0, 1);
  const { localQpn } = old.req;
  const { req } = await dialed(t, cm);
  const rep = repFor(t, cm, req, { localQpn });
  cm.send({ kind: 'REP', body: rep }, { transactionId: req.transactionId });
  const rej = await cm.rx('REJ', rep.localCommId);
  const { reason, messageRejected } = rej.body;
  demand(reason === CmRejReason.StaleConnection, () => `REJ 10 was expected, and ${describeArrival(rej)} came`);
  demand(messageRejected === 1, `the REJ says that it refuses message ${messageRejected}, and not the REP`);
  await expectDreq(t, cm, old.ours, { theirs: old.theirs, localQpn });
}

/** A DREQ for a connection of ours, again while it is not answered, and none after the DREP. */
async function expectDreq(
  t: Tester,
  cm: CmPort,
  ours: number,
  old: { readonly theirs: number; readonly localQpn: number },
): Promise<void> {
  const patience = t.dut.patienceNs + 2 * codeNs(SHORT);
  const dreq = await cm.rx('DREQ', ours, patience);
  const { localCommId, remoteQpn } = dreq.body;
  demand(localCommId === old.theirs, 'the DREQ has another id than the REP had');
  demand(remoteQpn === old.localQpn, `the DREQ is for queue pair 0x${remoteQpn.toString(16)}, which is not ours`);
  const again = await cm.rx('DREQ', ours, patience);
  demand(again.transactionId === dreq.transactionId, 'the DREQ was repeated in another transaction');
  const ids = { localCommId: ours, remoteCommId: old.theirs };
  cm.send({ kind: 'DREP', body: { ...ids, privateData: NOTHING } }, { transactionId: dreq.transactionId });
  await cm.sentinel();
  cm.drain(ours);
  const late = await cm.next(ours, 3 * codeNs(SHORT) + t.dut.quietNs);
  demand(late === undefined, () => `the DREQ was answered, and ${describeArrival(late ?? dreq)} came again`);
}

/** A packet behind the REP's starting PSN is out of order, one at it is the first. */
async function firstPsnOfAccepted(t: Tester): Promise<void> {
  const cm = await t.cm();
  const port = await listen(t);
  for (const startingPsn of [0, 0xff_ff_ff, t.psn]) {
    const { peer } = await established(t, cm, port, { startingPsn });
    peer.tx(sendOnly({ psn: 1, ackReq: true }));
    await peer.expectNak(0x60, 0);
    await peer.expectNextPsn(0, 1);
  }
  t.note('what listens sends nothing: where it would begin was not seen');
}

async function firstPsnOfDialed(t: Tester): Promise<void> {
  const cm = await t.cm();
  const { req } = await dialed(t, cm);
  const rep = repFor(t, cm, req);
  cm.send({ kind: 'REP', body: rep }, { transactionId: req.transactionId });
  await cm.rx('RTU', rep.localCommId);
  const peer = peerOfDialed(t, cm, req, rep);
  peer.tx(sendOnly({ psn: 1, ackReq: true }));
  await peer.expectNak(0x60, 0);
  peer.tx(sendOnly({ psn: 0, ackReq: true }));
  await peer.rx(ack({ psn: 0, msn: 1 }));
}

type Wrong = '0 bytes' | '255 bytes' | '257 bytes' | '1024 bytes' | 'another Q_Key' | 'Q_Key 0';

/** Whatever is wrong with them: no answer, and a right MAD is answered. */
async function dropped(t: Tester, wrongs: readonly Wrong[]): Promise<void> {
  const cm = await t.cm();
  const answered: string[] = [];
  for (const wrong of wrongs) {
    const body = unknownServiceRequest(t, cm.route(), cm.id());
    const bytes = Number.parseInt(wrong, 10);
    const resized = (mad: Uint8Array): Uint8Array => {
      const other = new Uint8Array(bytes);
      other.set(mad.subarray(0, Math.min(bytes, MAD_BYTES)));
      return other;
    };
    if (Number.isNaN(bytes))
      cm.send({ kind: 'REQ', body }, { packet: { qkey: wrong === 'Q_Key 0' ? 0 : 0x8001_0001 } });
    else cm.send({ kind: 'REQ', body }, { mad: resized });
    await cm.sentinel();
    if ((await cm.next(body.localCommId, t.dut.quietNs)) !== undefined) answered.push(wrong);
  }
  if (answered.length > 0) throw new Violation(`MADs were answered that are to be dropped: ${answered.join(', ')}`);
}

const versionsOf = (t: Tester): readonly (4 | 6)[] => [
  ...new Set(t.dut.addresses.map(({ address }) => address.version)),
];

/** An address that no device has: it is for documentation. */
const STRANGERS = { 4: IpAddress.parse('203.0.113.77'), 6: IpAddress.parse('2001:db8:ffff::77') } as const;
const NOTHING = new Uint8Array(0);
/** 67 ms: how soon the device has to repeat an unanswered message. */
const SHORT = 14;
