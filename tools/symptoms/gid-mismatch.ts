/** Scenes of `gid-mismatch`: two ends that use GIDs of different types, and hosts that use several types correctly. */
import { IpAddress, Op } from 'rocev2/packets';
import { WcStatus } from 'rocev2/transport';
import { crossedSends, type Traits } from './crossed.ts';
import { roceV1Frame, station } from './forge.ts';
import { play, type Scene } from './scene.ts';
import { type ConnectOptions, demandStatus, type Stage } from './stage.ts';

const SYMPTOM = 'gid-mismatch';

/** All of them. */
export const GID_MISMATCH_SCENES: readonly Scene[] = [
  {
    symptom: SYMPTOM,
    name: 'gid-mismatch-v1-v2',
    triggers: true,
    about: 'A took a GID of RoCE version 1, B one of version 2: each drops the packets of the other.',
    make: () => play({ vantages: ['A'] }, versions),
  },
  {
    symptom: SYMPTOM,
    name: 'gid-mismatch-ipv4-ipv6',
    triggers: true,
    about: 'A sends over IPv4, B over IPv6: each end drops what does not come from the address of its peer.',
    make: () => play({ vantages: ['A'] }, (stage) => crossed(stage, 4, 6)),
  },
  {
    symptom: SYMPTOM,
    name: 'gid-mismatch-link-local',
    triggers: true,
    about: 'A sends from and to link-local addresses, B from and to global ones.',
    make: () => play({ vantages: ['A'] }, linkLocal),
  },
  {
    symptom: SYMPTOM,
    name: 'gid-mismatch-networks',
    triggers: true,
    about: 'A took the GID of its first address and B that of its second, each in a network of its own.',
    make: () => play({ vantages: ['A'] }, (stage) => crossedSends(stage, {}, between('10.0.1.2', '10.0.1.1'))),
  },
  {
    symptom: SYMPTOM,
    name: 'gid-mismatch-one-address',
    triggers: true,
    about: 'A sends to the first address of B, and B sends from its second.',
    make: () => play({ vantages: ['A'] }, (stage) => crossedSends(stage, {}, between('10.0.1.2', '10.0.0.1'))),
  },
  {
    symptom: SYMPTOM,
    name: 'gid-mismatch-behind-router',
    triggers: false,
    alsoFinds: ['no-reply'],
    about: 'A sends to one host behind a router, another host behind it sends to A, and neither gets a response.',
    make: () =>
      play({ vantages: ['A'] }, (stage) =>
        crossedSends(stage, {}, { ...between('10.0.1.2', '10.0.0.1'), hopLimit: 63 }),
      ),
  },
  {
    symptom: SYMPTOM,
    name: 'gid-mismatch-both-kinds-work',
    triggers: false,
    about: 'Two connections between the same hosts, one over IPv4 and one over IPv6, both sound.',
    make: () => play({ vantages: ['A'] }, bothKinds),
  },
  {
    symptom: SYMPTOM,
    name: 'gid-mismatch-other-hosts',
    triggers: false,
    about: 'RoCE version 1 between two other hosts beside a sound connection.',
    make: () => play({ vantages: ['A'] }, otherHosts),
  },
  {
    symptom: SYMPTOM,
    name: 'gid-mismatch-v1-only',
    triggers: false,
    about: 'Two hosts that use RoCE version 1 with each other; there is nothing to compare it with.',
    make: () => play({ vantages: ['A'] }, versionOneOnly),
  },
];

/** From B to A, with other addresses. */
function between(from: string, to: string): Traits {
  return { from: station(2, 4, from), to: station(1, 4, to) };
}

const PATIENT: ConnectOptions = { retryCnt: 3, timeout: 10 };

async function versions(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const [left, right] = [stage.end(a), stage.end(b)];
  // The packets of A are forged, and A has no listener on UDP 4791: its queue pair stays in RESET.
  await stage.bringUp(right, left, PATIENT);
  const answer = right.send(100);
  for (let attempt = 0; attempt < 4; attempt++) {
    stage.forge(versionOne(right.qpn, 100));
    await stage.sleep(4_194_304);
  }
  demandStatus(await answer, WcStatus.RetryExcErr);
  await stage.goOn(20e6);
}

async function crossed(stage: Stage, ours: 4 | 6, theirs: 4 | 6): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const [left, right] = [stage.end(a), stage.end(b)];
  await stage.bringUp(left, right, { ...PATIENT, ipVersion: ours });
  await stage.bringUp(right, left, { ...PATIENT, ipVersion: theirs, psns: [200, 100] });
  const both = [left.send(100), right.send(100)];
  for (const each of both) demandStatus(await each, WcStatus.RetryExcErr);
  await stage.goOn(20e6);
}

async function linkLocal(stage: Stage): Promise<void> {
  const [a, b] = [1, 2].map((n) => stage.host('AB'.charAt(n - 1), { addresses: [`fd00::${n}/64`, `fe80::${n}/64`] }));
  if (a === undefined || b === undefined) return;
  const [left, right] = [stage.end(a), stage.end(b)];
  const local = { qpn: right.qpn, addresses: [IpAddress.parse('fe80::2')] };
  await stage.bringUp(left, local, { ...PATIENT, ipVersion: 6 });
  await stage.bringUp(right, left, { ...PATIENT, ipVersion: 6, psns: [200, 100] });
  const both = [left.send(100), right.send(100)];
  for (const each of both) demandStatus(await each, WcStatus.RetryExcErr);
  await stage.goOn(20e6);
}

async function bothKinds(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  for (const ipVersion of [4, 6] as const) {
    const pair = await stage.connect(a, b, { ipVersion });
    pair.b.receive(3);
    for (let i = 0; i < 3; i++) demandStatus(await pair.a.send(2_000), WcStatus.Success);
  }
}

async function otherHosts(stage: Stage): Promise<void> {
  const pair = await stage.connect(stage.host('A'), stage.host('B'));
  pair.b.receive(10);
  for (let i = 0; i < 10; i++) {
    demandStatus(await pair.a.send(2_000), WcStatus.Success);
    stage.forge(versionOne(0x55, 300 + i, 7, 8));
  }
}

async function versionOneOnly(stage: Stage): Promise<void> {
  for (let i = 0; i < 10; i++) {
    stage.forge(versionOne(0x55, 300 + i, 7, 8));
    await stage.sleep(10_000);
  }
}

function versionOne(destQpn: number, psn: number, from = 1, to = 2): Uint8Array {
  const ends = { from: station(from), to: station(to) };
  return roceV1Frame({ ...ends, opcode: Op.SendOnly, destQpn, psn, ackReq: 1, payload: new Uint8Array(100) });
}
