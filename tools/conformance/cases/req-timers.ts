/**
 * Cases of area REQ: the ACK timer, how often requests are repeated, and what they look like then (REQ-20 to REQ-23,
 * REQ-25, REQ-26). A wait is measured from a moment before it can have begun, so that neither tester nor link can make
 * it look shorter.
 */
import { Syndrome } from 'rocev2/packets';
import type { Packet, Sighting } from 'rocev2/packets/kit';
import { WcStatus } from 'rocev2/transport';
import type { Case } from '../tester/case.ts';
import { demand, Inconclusive } from '../tester/outcome.ts';
import type { ReceivedPacket } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import {
  add,
  atMost,
  type PostedWork,
  read,
  responder,
  type ScriptedResponder,
  send,
  sendImm,
  timeoutNs,
  write,
  writeImm,
} from './responder.ts';

export const REQ_TIMER_CASES: readonly Case[] = [
  { rules: ['REQ-20'], run: (t) => givesUp(t, [0, 1, 2, 6]) },
  { rules: ['REQ-20'], title: 'retry_cnt 7', run: (t) => givesUp(t, [7], 10) },
  { rules: ['REQ-21'], run: repeatsEverything },
  { rules: ['REQ-22'], title: 't = 0', run: neverRepeatsWithoutTimer },
  { rules: ['REQ-22'], title: 't = 8 and more', run: waitsTheInterval },
  { rules: ['REQ-23'], run: refillsTheCounter },
  { rules: ['REQ-25'], psnSweep: true, run: repeatsPartsOfReads },
  { rules: ['REQ-26'], run: repeatsIdentically },
];

async function givesUp(t: Tester, counts: readonly number[], code = 14): Promise<void> {
  const interval = timeoutNs(code);
  for (const retryCnt of counts) {
    const work = retryCnt === 1 ? read(1, 300) : send(1);
    const r = await responder(t, { timeout: code, retryCnt });
    await r.post(work);
    for (let i = 0; i <= retryCnt; i++) await r.seesWithin(atMost(t, interval), 0, work);
    // The error takes as long as one more retransmission would.
    const extra = await r.peer.take(t.dut.virtual ? interval - 1 : interval);
    demand(extra === undefined, `with retry_cnt ${retryCnt} it was sent more than ${retryCnt + 1} times`);
    await r.completesWithin(atMost(t, interval), [1, WcStatus.RetryExcErr]);
    await r.isOver();
  }
}

async function repeatsEverything(t: Tester): Promise<void> {
  const code = 12;
  const atomics = t.has('atomics') ? [add(1)] : [];
  for (const work of [send(1), send(1, 700), write(1), writeImm(1, 700), read(1, 700), ...atomics]) {
    const r = await responder(t, { timeout: code, retryCnt: 6 });
    await r.post(work);
    await r.sees(0, work);
    await r.seesWithin(atMost(t, timeoutNs(code)), 0, work);
    await r.seesWithin(atMost(t, timeoutNs(code)), 0, work);
  }
}

async function neverRepeatsWithoutTimer(t: Tester): Promise<void> {
  const waitNs = t.dut.virtual ? 60e9 : 3e9;
  const r = await responder(t, { timeout: 0 });
  await r.post(send(1), write(2, 300));
  await r.sees(0, send(1), write(2, 300));
  if (!t.dut.virtual) t.note('it was watched for 3 s, not for 60 s');
  await t.sleep(waitNs);
  await r.undisturbed();
  r.peer.ack(2, 2);
  await r.completes([1], [2]);
}

/** Several intervals are measured as one: what each of them lacks adds up, and what post and link take does not. */
async function waitsTheInterval(t: Tester): Promise<void> {
  const last = t.dut.virtual ? 20 : 16;
  if (!t.dut.virtual) t.note(`codes 8 to ${last}, not to 20`);
  const early: string[] = [];
  for (let code = 8; code <= last; code++) {
    const r = await responder(t, { timeout: code, retryCnt: 6 });
    const before = t.now();
    await r.post(send(1));
    const [first] = await r.sees(0, send(1));
    // In virtual time every packet is as long under way as any other.
    const from = t.dut.virtual ? (first?.sighting.timeNs ?? before) : before;
    let passed = 0;
    for (let i = 0; i < INTERVALS; i++) {
      const [again] = await r.seesWithin(atMost(t, timeoutNs(code)), 0, send(1));
      if (again === undefined) throw new Inconclusive('nothing was sent');
      passed = again.sighting.timeNs - from;
    }
    const least = INTERVALS * timeoutNs(code);
    if (passed < least)
      early.push(`with timeout ${code} ${INTERVALS} retries came within ${ms(passed)} ms, not ${ms(least)}`);
  }
  demand(early.length === 0, () => early.join('; '));
}

const INTERVALS = 3;
const ms = (ns: number): string => (ns / 1e6).toFixed(3);

async function refillsTheCounter(t: Tester): Promise<void> {
  // So long that a tester that is slow is not taken for a loss.
  const code = 16;
  for (const retryCnt of [1, 2]) {
    const r = await responder(t, { timeout: code, retryCnt });
    const packets = r.packetsOf(0, write(1, 1000));
    await r.post(write(1, 1000));
    for (const [at] of packets.entries()) {
      // What is open is sent, and again as often as it may be, before one packet of it is acknowledged.
      const rounds = at === 0 ? retryCnt + 1 : retryCnt;
      for (let i = 0; i < rounds; i++) await seesRound(t, r, packets.slice(at), atMost(t, timeoutNs(code)));
      r.peer.ack(at, at === packets.length - 1 ? 1 : 0);
    }
    await r.completes([1]);
  }
}

/** The packets of one go from the oldest unacknowledged one to the last. */
async function seesRound(t: Tester, r: ScriptedResponder, packets: readonly Packet[], withinNs: number): Promise<void> {
  let first = await r.peer.take(withinNs);
  const [oldest] = packets;
  // Of a round that was under way when the ACK came, the rest is skipped.
  while (first !== undefined && oldest !== undefined && first.packet.psn !== oldest.psn)
    first = await r.peer.take(withinNs);
  demand(first !== undefined, 'a request that is open was not sent again, though retries are left');
  await r.peer.rxAll(packets.slice(1));
  if (r.peer.inbox.length > 0) t.note('goes overlap');
}

async function repeatsPartsOfReads(t: Tester): Promise<void> {
  const code = 14;
  for (const answered of [0, 1, 3, 4])
    for (const why of ['timeout', 'later answer'] as const) {
      const r = await responder(t, why === 'timeout' ? { timeout: code } : {});
      const works: PostedWork[] = why === 'timeout' ? [read(1, 1100)] : [read(1, 1100), send(2)];
      await r.post(...works);
      const [original] = await r.sees(0, ...works);
      if (original === undefined) throw new Inconclusive('there is no READ');
      r.peer.tx(...r.responsesTo(original.packet, 1).slice(0, answered));
      if (why === 'later answer') r.peer.ack(5, 2);
      const again = await newestRetry(t, r, atMost(t, timeoutNs(code)));
      isPartOf(original, again, answered, r.peer.mtu);
      r.peer.tx(...r.responsesTo(again.packet, 1));
      if (why === 'later answer') r.peer.ack(5, 2);
      await r.completes(...works.map(({ wrId }) => [wrId] as const));
      await r.readIsRight(read(1, 1100));
    }
}

/** The READ that comes next. */
async function newestRetry(t: Tester, r: ScriptedResponder, withinNs: number): Promise<ReceivedPacket> {
  const again = await r.peer.take(withinNs);
  demand(again !== undefined, 'a READ that has not its data was not asked for again');
  if (again.packet.reth === undefined) throw new Inconclusive('something else than the READ was sent again first');
  await t.sleep(t.dut.pollNs);
  r.peer.drain();
  return again;
}

function isPartOf(original: ReceivedPacket, again: ReceivedPacket, answered: number, mtu: number): void {
  const before = original.packet.reth;
  const now = again.packet.reth;
  if (before === undefined || now === undefined) throw new Inconclusive('a READ has no RETH');
  const skipped = again.packet.psn - original.packet.psn;
  demand(skipped >= 0 && skipped <= answered, `with ${answered} responses there, it began anew at response ${skipped}`);
  const gone = skipped * mtu;
  demand(now.rkey === before.rkey, 'the READ that was sent again has another rkey');
  demand(now.va === before.va + BigInt(gone), `the READ at response ${skipped} begins at 0x${now.va.toString(16)}`);
  demand(now.length === before.length - gone, `the READ at response ${skipped} asks for ${now.length} bytes`);
}

async function repeatsIdentically(t: Tester): Promise<void> {
  const code = 14;
  for (const work of [send(1, 701), sendImm(1, 3), write(1, 701), writeImm(1, 700)])
    for (const why of ['timeout', 'NAK'] as const) {
      const r = await responder(t, why === 'timeout' ? { timeout: code } : {});
      await r.post(work);
      const originals = await r.sees(0, work);
      if (why === 'NAK') r.peer.nak(Syndrome.NakSequence, 0, 0);
      const again = await r.seesWithin(atMost(t, timeoutNs(code)), 0, work);
      for (const [i, { sighting }] of originals.entries()) {
        const other = again[i]?.sighting;
        if (other === undefined) throw new Inconclusive('a packet is missing');
        const at = firstDifference(sighting, other);
        demand(at < 0, `byte ${at} of packet ${i} of a ${work.opcode} differs when it is sent again`);
      }
    }
}

/**
 * Where two sightings of one packet differ, apart from AckReq, the IP identification and the checksums over them; -1:
 * nowhere.
 */
function firstDifference(a: Sighting, b: Sighting): number {
  const [x, y] = [comparable(a), comparable(b)];
  if (x.length !== y.length) return Math.min(x.length, y.length);
  return x.findIndex((byte, i) => byte !== y[i]);
}

function comparable({ bytes, at, ip }: Sighting): Uint8Array {
  const copy = bytes.slice();
  copy[at.bth + 8] = (copy[at.bth + 8] ?? 0) & 0x7f;
  if (ip.version === 4) for (const i of [4, 5, 10, 11]) copy[at.ip + i] = 0;
  return copy.fill(0, at.icrc, at.icrc + 4);
}
