/** Scenes of `mtu-mismatch`: ends and paths that do not agree on the MTU, and long messages that pass. */
import { Op } from 'rocev2/packets';
import { WcStatus } from 'rocev2/transport';
import { icmpError, icmpFragmentationNeeded, ipv4Fragments, roceFrame, station } from './forge.ts';
import { reth } from './headers.ts';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

/** All of them. */
export const MTU_MISMATCH_SCENES: readonly Scene[] = [
  {
    symptom: 'mtu-mismatch',
    name: 'mtu-mismatch-ends',
    triggers: true,
    about: 'The queue pair of A has a path MTU of 4096, that of B 1024: each refuses the long messages of the other.',
    make: () => play({ vantages: ['mirror'] }, ends),
  },
  {
    symptom: 'mtu-mismatch',
    name: 'mtu-mismatch-router',
    triggers: true,
    about:
      'A router lets packets of 1500 bytes pass and reports longer ones by ICMP; A ignores that and retransmits without effect.',
    make: () => play({ vantages: ['A'] }, (stage) => narrowPath(stage, true)),
  },
  {
    symptom: 'mtu-mismatch',
    name: 'mtu-mismatch-black-hole',
    triggers: true,
    about: 'A switch drops frames beyond 1500 bytes silently: six short messages pass, the first long one never does.',
    make: () => play({ vantages: ['A'] }, (stage) => narrowPath(stage, false)),
  },
  {
    symptom: 'mtu-mismatch',
    name: 'mtu-mismatch-router-ipv6',
    triggers: true,
    about: 'ICMPv6 "packet too big" about a packet over IPv6.',
    make: () => play({ vantages: ['A'] }, tooBigOverIpv6),
  },
  {
    symptom: 'mtu-mismatch',
    name: 'mtu-mismatch-short-ends-pass',
    triggers: true,
    about: 'Of a long WRITE only the short last packet passes: B asks for the first one by a sequence NAK, in vain.',
    make: () => play({ vantages: ['A'] }, (stage) => fullPacketsVanish(stage, 'write')),
  },
  {
    symptom: 'mtu-mismatch',
    name: 'mtu-mismatch-short-ends-at-receiver',
    triggers: true,
    about: 'The same, seen at B: last packets of messages that never begin.',
    make: () => play({ vantages: ['B'] }, (stage) => fullPacketsVanish(stage, 'write')),
  },
  {
    symptom: 'mtu-mismatch',
    name: 'mtu-mismatch-read-responses',
    triggers: true,
    about:
      'The responses to a READ, seen where they should arrive: the last one comes again and again, the others never.',
    make: () => play({ vantages: ['A'] }, (stage) => fullPacketsVanish(stage, 'read')),
  },
  {
    symptom: 'mtu-mismatch',
    name: 'mtu-mismatch-read-responses-at-sender',
    triggers: true,
    about: 'The same, seen where they are sent.',
    make: () => play({ vantages: ['B'] }, (stage) => fullPacketsVanish(stage, 'read')),
  },
  {
    symptom: 'mtu-mismatch',
    name: 'mtu-mismatch-first-lost',
    triggers: false,
    alsoFinds: ['sequence-error'],
    about: 'The first packet of a long WRITE is lost once: the receiver asks for it, and it arrives.',
    make: () => play({ vantages: ['A'] }, (stage) => firstLost(stage, 1)),
  },
  {
    symptom: 'mtu-mismatch',
    name: 'mtu-mismatch-first-lost-at-receiver',
    triggers: false,
    alsoFinds: ['sequence-error'],
    about: 'It is lost twice, seen at the receiver.',
    make: () => play({ vantages: ['B'] }, (stage) => firstLost(stage, 2)),
  },
  {
    symptom: 'mtu-mismatch',
    name: 'mtu-mismatch-fragments',
    triggers: true,
    about: 'A sender without the do-not-fragment bit: a router cuts its packets in two.',
    make: () => play({ vantages: ['A'] }, fragments),
  },
  {
    symptom: 'mtu-mismatch',
    name: 'mtu-mismatch-same',
    triggers: false,
    about: 'Both ends use 4096. A sends long messages, B only such that fit into one packet, and later a long one.',
    make: () => play({ vantages: ['A'] }, same),
  },
  {
    symptom: 'mtu-mismatch',
    name: 'mtu-mismatch-lost-once',
    triggers: false,
    about: 'The first long packet is lost once, and its retransmission arrives.',
    make: () => play({ vantages: ['A'] }, lostOnce),
  },
  {
    symptom: 'mtu-mismatch',
    name: 'mtu-mismatch-other-traffic',
    triggers: false,
    about: 'Fragments of another UDP service, and a router that complains about it, beside RoCE that works.',
    make: () => play({ vantages: ['A'] }, otherTraffic),
  },
];

async function ends(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { mtu: 4096, mtuB: 1024 });
  demandStatus(await a.write(b, 500), WcStatus.Success);
  const both = [a.write(b, 20_000), b.write(a, 20_000)];
  await Promise.all(both);
}

async function narrowPath(stage: Stage, says: boolean): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { mtu: 4096, timeout: 8, retryCnt: 3 });
  for (let i = 0; i < 6; i++) demandStatus(await a.write(b, 1_000), WcStatus.Success);
  stage.rule({ match: ({ ipEnd, ipOffset }) => ipEnd - ipOffset > 1_500, action: 'drop' });
  const write = a.write(b, 20_000);
  if (says) {
    await stage.sleep(20_000);
    const about = longPacket(106);
    await stage.forgeAll(
      [about, about, about].map((frame) => icmpFragmentationNeeded(station(254), frame, 1_500, station(1))),
    );
  }
  demandStatus(await write, WcStatus.RetryExcErr);
  await stage.goOn(20e6);
}

/** Every packet of more than 1000 bytes is lost; the path MTU is 1024, and the last packet of the message is short. */
async function fullPacketsVanish(stage: Stage, operation: 'write' | 'read'): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 8, retryCnt: 3 });
  stage.rule({ match: ({ ipEnd, ipOffset }) => ipEnd - ipOffset > 1_000, action: 'drop' });
  for (let i = 0; i < 2; i++) demandStatus(await a.write(b, 500), WcStatus.Success);
  demandStatus(await a[operation](b, 5_000), WcStatus.RetryExcErr);
  await stage.goOn(20e6);
}

async function firstLost(stage: Stage, howOften: number): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { mtu: 4096 });
  for (let nth = 1; nth <= howOften; nth++) {
    stage.rule({ port: 'A', match: ({ opcode }) => opcode === Op.WriteFirst, nth, action: 'drop' });
  }
  demandStatus(await a.write(b, 9_000), WcStatus.Success);
}

async function tooBigOverIpv6(stage: Stage): Promise<void> {
  const about = longPacket(100, 6);
  for (let attempt = 0; attempt < 3; attempt++) {
    stage.forge(about);
    await stage.sleep(20_000);
    stage.forge(
      icmpError({
        from: station(254, 6),
        to: station(1, 6),
        about,
        type: 2,
        code: 0,
        value: 1_280,
        quotedBytes: 1_232,
      }),
    );
    await stage.sleep(4_194_304);
  }
}

async function fragments(stage: Stage): Promise<void> {
  for (let round = 0; round < 3; round++) await stage.forgeAll(ipv4Fragments(longPacket(100), 1_500));
}

async function same(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { mtu: 4096 });
  for (const length of [30_000, 4_096, 8_192]) demandStatus(await a.write(b, length), WcStatus.Success);
  for (const length of [1_024, 1_024, 4_096]) demandStatus(await b.write(a, length), WcStatus.Success);
  demandStatus(await b.write(a, 12_000), WcStatus.Success);
}

async function lostOnce(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { mtu: 4096 });
  for (let i = 0; i < 6; i++) demandStatus(await a.write(b, 1_000), WcStatus.Success);
  stage.rule({ port: 'A', match: ({ opcode }) => opcode === Op.WriteOnly, nth: 1, action: 'drop' });
  demandStatus(await a.write(b, 4_096), WcStatus.Success);
}

async function otherTraffic(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { mtu: 4096 });
  const other = longPacket(1);
  // Another destination port, so it is not RoCE; a UDP checksum of 0 is not checked.
  new DataView(other.buffer).setUint16(14 + 20 + 2, 4_790);
  await stage.forgeAll(ipv4Fragments(other, 1_500));
  await stage.forgeAll([icmpFragmentationNeeded(station(254), other, 1_500, station(1))]);
  demandStatus(await a.write(b, 20_000), WcStatus.Success);
}

/** A WRITE First of A with 4096 bytes. */
function longPacket(psn: number, ipVersion: 4 | 6 = 4): Uint8Array {
  return roceFrame({
    from: station(1, ipVersion),
    to: station(2, ipVersion),
    opcode: Op.WriteFirst,
    destQpn: 0x11,
    psn,
    headers: reth(0x7f00_0000_0000n, 0x1234, 20_000),
    payload: new Uint8Array(4_096).fill(0x5a),
  });
}
