/**
 * Cases of area CNP whose device gets a notification: what it does, and what it must leave alone (CNP-03, -09 to -11).
 * A rate is measured by the gaps between packets of a long WRITE; in virtual time only, where nothing else makes gaps.
 */
import { cnp, marked, type Packet, pattern, writeFirst, writeLast, writeMiddle } from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { register } from '../tester/connect.ts';
import { demand, Inconclusive } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { read, responder, send } from './responder.ts';

export const CNP_REACTION_CASES: readonly Case[] = [
  { rules: ['CNP-03'], needs: ['cnp', 'virtual'], run: ignoresReservedBytes },
  { rules: ['CNP-09'], hazardous: true, run: answersNothing },
  { rules: ['CNP-10'], needs: ['host-control'], hazardous: true, psnSweep: true, run: leavesTransportAlone },
  { rules: ['CNP-11'], needs: ['cnp', 'virtual'], run: ignoresForgeries },
];

/** Junk in the 16 bytes behind the BTH. */
const junk = (): Packet =>
  cnp({
    note: 'reserved bytes not zero',
    edit: ({ bytes, bth }) => {
      bytes.set(pattern(16, 5), bth + 12);
      return undefined;
    },
  });

/**
 * Median of the gaps between the packets of a long WRITE, in nanoseconds: without CNPs, then after each of the
 * notifications. A sender that was idle may begin with a burst, so the first packets do not count.
 */
export async function rates(t: Tester, notifications: readonly Packet[]): Promise<readonly number[]> {
  const { peer } = await responder(t, { mtu: 1024 });
  const each = 200;
  const burst = 200;
  const count = burst + each * (notifications.length + 1);
  const { mr, region } = register(t, peer.pd, count * peer.mtu, ['local-write']);
  await region;
  const pieces = [{ mr, offset: 0, length: count * peer.mtu }];
  await peer.post({ wrId: 1, opcode: 'write', pieces, remoteAddr: 0x1000n, rkey: 1 });
  const medians: number[] = [];
  let psn = 0;
  let last = 0;
  for (const notification of [undefined, ...notifications]) {
    if (notification !== undefined) peer.tx(notification);
    const gaps: number[] = [];
    const packets = notification === undefined ? burst + each : each;
    for (let i = 0; i < packets; i++, psn++) {
      const { packet, sighting } = await peer.rx({ psn });
      if (packet.ackReq === true) peer.ack(psn, psn === count - 1 ? 1 : 0);
      // The first packets after a notification left before it was there.
      if (i >= packets - each / 4) gaps.push(sighting.timeNs - last);
      last = sighting.timeNs;
    }
    medians.push(gaps.sort((a, b) => a - b)[gaps.length >> 1] ?? 0);
  }
  return medians;
}

const SLOWER = 1.3;

async function ignoresReservedBytes(t: Tester): Promise<void> {
  const [quiet = 0, plain = 0] = await rates(t, [cnp()]);
  demand(plain >= SLOWER * quiet, `a CNP changed the gap between packets from ${quiet} to ${plain} ns only`);
  const [before = 0, after = 0] = await rates(t, [junk()]);
  demand(
    after >= SLOWER * before,
    `a CNP with junk in its reserved bytes changed the gap between packets from ${before} to ${after} ns only`,
  );
}

async function ignoresForgeries(t: Tester): Promise<void> {
  const { ours } = t.address();
  const foreign = ours.toString().replace(/\d+$/, '253');
  const forged = [
    cnp({
      note: 'ICRC wrong',
      spoil: ({ bytes, icrc }) => {
        bytes[icrc] = (bytes[icrc] ?? 0) ^ 1;
        return undefined;
      },
    }),
    cnp({ source: foreign }),
  ];
  const [quiet = 0, ...after] = await rates(t, [...forged, cnp()]);
  const real = after.pop() ?? 0;
  for (const [i, gap] of after.entries())
    demand(
      gap < SLOWER * quiet,
      `a CNP ${i === 0 ? 'with a wrong ICRC' : 'from elsewhere'} changed the gap between packets from ${quiet} to ${gap} ns`,
    );
  if (real < SLOWER * quiet) throw new Inconclusive('a real CNP changes no rate');
}

async function answersNothing(t: Tester): Promise<void> {
  for (const { address } of t.dut.addresses) {
    const peer = await t.connect({ version: address.version });
    let psn = 0;
    for (const packet of [cnp(), cnp({ becn: 0 }), marked(cnp()), marked(junk()), cnp({ ackReq: true, psn: 5 })]) {
      peer.tx(packet);
      await peer.expectNextPsn(psn, psn + 1);
      psn++;
    }
    await peer.expectSilence();
  }
}

async function leavesTransportAlone(t: Tester): Promise<void> {
  // As a responder: between the packets of a WRITE.
  const r = await responder(t);
  const { peer } = r;
  const { va, rkey } = peer.region;
  const data = pattern(700, 6);
  peer.tx(
    cnp(),
    writeFirst({ psn: 0, payload: data.slice(0, 256), reth: { va, rkey, length: 700 } }),
    marked(cnp()),
    writeMiddle({ psn: 1, payload: data.slice(256, 512) }),
    cnp(),
    writeLast({ psn: 2, payload: data.slice(512), ackReq: true }),
  );
  await peer.expectAck(2, 1);
  await peer.expectNextPsn(3, 2);
  const memory = await peer.memory(0, 700);
  demand(
    memory.every((byte, i) => byte === data[i]),
    'the data of the WRITE is wrong',
  );
  // As a requester: while it waits, and between READ responses.
  const other = await responder(t, { retryCnt: 0, rnrRetry: 0 });
  await other.post(send(1, 700), read(2, 700));
  const seen = await other.sees(0, send(1, 700), read(2, 700));
  const request = seen.at(-1);
  if (request === undefined) throw new Inconclusive('there is no READ');
  for (let i = 0; i < 5; i++) other.peer.tx(cnp());
  await other.undisturbed();
  other.peer.ack(2, 1);
  for (const packet of other.responsesTo(request.packet, 2)) other.peer.tx(cnp(), packet, marked(cnp()));
  await other.completes([1], [2]);
  await other.readIsRight(read(2, 700));
  await other.undisturbed();
}
