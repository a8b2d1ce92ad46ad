/**
 * Area ANX, what the device sends: header fields that come from the address vector, and every passive rule compared
 * with a mixed exchange. Sources: ref:conformance#ANX; the passive rules are those of passive-checks/.
 */

import { pattern, readRequest, type Sighting, sendOnly } from 'rocev2/packets/kit';
import { PASSIVE_RULES, type PassiveChecks, passiveChecksOf } from '../passive-checks/index.ts';
import { findRule } from '../rules/index.ts';
import type { Case } from '../tester/case.ts';
import type { TesterConnectOptions } from '../tester/connect.ts';
import { demand, Inconclusive, NotApplicable, Violation } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { RequestSequence, versionsOf } from './line.ts';
import { responder, send, write } from './responder.ts';

type Check = (sighting: Sighting, t: Tester) => void;
type Run = (t: Tester) => Promise<void>;
const ofVersion =
  (version: 4 | 6, options: TesterConnectOptions, check: Check): Run =>
  async (t) => {
    await sent(t, { ...options, version }, check);
  };

/** A traffic class whose ECN bits are set too: a device without congestion management must not send them. */
const TRAFFIC_CLASS = 0xab;

export const ANX_SENDER_CASES: readonly Case[] = [
  { rules: ['ANX-04'], needs: ['host-control', 'ipv4'], run: ofVersion(4, { trafficClass: 0xa8 }, dscp) },
  { rules: ['ANX-13'], needs: ['host-control', 'ipv6'], run: ofVersion(6, { trafficClass: 0xa8 }, dscp) },
  {
    rules: ['ANX-05'],
    title: 'asked for',
    needs: ['host-control', 'ipv4'],
    run: ofVersion(4, { trafficClass: TRAFFIC_CLASS }, ecn),
  },
  {
    rules: ['ANX-14'],
    title: 'asked for',
    needs: ['host-control', 'ipv6'],
    run: ofVersion(6, { trafficClass: TRAFFIC_CLASS }, ecn),
  },
  { rules: ['ANX-09'], needs: ['host-control', 'ipv4'], run: hopLimits(4) },
  { rules: ['ANX-17'], needs: ['host-control', 'ipv6'], run: hopLimits(6) },
  {
    rules: ['ANX-11', 'ANX-12'],
    title: 'requests and answers',
    needs: ['host-control', 'ipv4'],
    run: ofVersion(4, {}, addresses),
  },
  {
    rules: ['ANX-18', 'ANX-19'],
    title: 'requests and answers',
    needs: ['host-control', 'ipv6'],
    run: ofVersion(6, {}, addresses),
  },
  { rules: ['ANX-47'], title: 'requests and answers', needs: ['host-control'], run: onePort },
  ...PASSIVE_RULES.map(
    (rule): Case => ({ rules: [rule], title: 'every packet of a mixed exchange', run: (t) => watched(t, rule) }),
  ),
];

/** Requests, an ACK and responses of a queue pair that is connected so. */
async function sent(t: Tester, options: TesterConnectOptions, check: Check): Promise<Sighting[]> {
  const ours = await responder(t, options);
  const { peer } = ours;
  await ours.post(write(1, 600), send(2, 40));
  const all = (await ours.sees(0, write(1, 600), send(2, 40))).map(({ sighting }) => sighting);
  peer.ack(3, 2);
  await ours.completes([1], [2]);
  const line = new RequestSequence(peer);
  peer.tx(line.write(pattern(8))(0));
  all.push((await peer.expectAck(0, 1)).sighting);
  peer.tx(readRequest({ psn: 1, reth: line.reth(600) }));
  for (let i = 0; i < 3; i++) all.push((await peer.rx({ psn: 1 + i })).sighting);
  for (const sighting of all) check(sighting, t);
  return all;
}

function dscp({ ip: { trafficClass } }: Sighting): void {
  demand(trafficClass >> 2 === 0xa8 >> 2, `the address vector has DSCP 42, and the packet ${trafficClass >> 2}`);
}

function ecn({ ip: { trafficClass } }: Sighting, t: Tester): void {
  demand(
    trafficClass >> 2 === TRAFFIC_CLASS >> 2,
    `the address vector has DSCP 42, and the packet ${trafficClass >> 2}`,
  );
  if (t.has('cnp')) t.note('it has congestion management, so it may set its ECN bits itself');
  else demand((trafficClass & 3) === 0, `ECN ${trafficClass & 3} without congestion management`);
}

function hopLimits(version: 4 | 6) {
  return async (t: Tester): Promise<void> => {
    for (const hopLimit of [1, 17, 200])
      await sent(t, { version, hopLimit }, ({ ip }) =>
        demand(ip.hopLimit === hopLimit, `the address vector has hop limit ${hopLimit}, and the packet ${ip.hopLimit}`),
      );
  };
}

function addresses({ ip }: Sighting, t: Tester): void {
  const { address, ours } = t.address(ip.version);
  demand(ip.source === `${address}`, `the queue pair names GID ${address}, and the packet is from ${ip.source}`);
  demand(ip.destination === `${ours}`, `the address vector names ${ours}, and the packet is for ${ip.destination}`);
}

async function onePort(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const ports = new Set((await sent(t, { version }, () => {})).map(({ sourcePort }) => sourcePort));
    demand(ports.size === 1, `packets of one queue pair come from the UDP ports ${[...ports].join(', ')}`);
  }
}

/** One passive rule, in an exchange of its own. */
async function watched(t: Tester, rule: string): Promise<void> {
  const { dut } = t;
  const { station } = dut;
  const checks = passiveChecksOf(dut);
  const { watch, watchOther } = station;
  station.watch = (sighting) => both(watch, checks, sighting);
  station.watchOther = (bytes, ip, timeNs) => {
    watchOther?.(bytes, ip, timeNs);
    checks.checkOther(bytes, ip, timeNs);
  };
  try {
    await exchange(t);
  } finally {
    station.watch = watch;
    station.watchOther = watchOther;
  }
  const result = checks.results().find((one) => one.rule === rule);
  if (result?.verdict === 'fail') throw new Violation(result.reason);
  if (result?.verdict === 'pass') return;
  const version = findRule(rule)?.says.includes('IPv6') === true ? 6 : 4;
  if (!versionsOf(t).includes(version)) throw new NotApplicable(`the device has no IPv${version} address`);
  throw new Inconclusive(`${rule}: ${result?.reason}`);
}

function both(first: ((sighting: Sighting) => void) | undefined, checks: PassiveChecks, sighting: Sighting): void {
  first?.(sighting);
  checks.check(sighting);
}

/**
 * Something of everything: messages of odd lengths, a READ of three packets, a NAK, and work of the device where it has
 * host control.
 */
async function exchange(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const line = await RequestSequence.open(t, { version });
    const { peer } = line;
    await line.accepts(...[0, 1, 2, 3, 100].map((length) => line.write(pattern(length))));
    peer.tx(readRequest({ psn: line.psn, reth: line.reth(601) }));
    for (let i = 0; i < 3; i++) await peer.rx({ psn: line.psn + i });
    peer.tx(sendOnly({ psn: line.psn + 4, payload: pattern(4), ackReq: true }));
    await peer.expectNak(0x60, line.psn + 3);
    if (t.dut.hostControl === undefined) continue;
    const ours = await responder(t, { version });
    const work = [1, 2, 3, 257].map((length, i) => (i % 2 === 0 ? write(i + 1, length) : send(i + 1, length)));
    await ours.post(...work);
    await ours.sees(0, ...work);
    ours.peer.ack(4, 4);
    await ours.completes([1], [2], [3], [4]);
  }
}
