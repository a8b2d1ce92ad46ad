/** Scenes of `pkey-mismatch`: P_Keys that do not match, and such that do though they are not the same. */
import { WcStatus } from 'rocev2/transport';
import { crossedSends } from './crossed.ts';
import { mendIcrc, rewriteCapture } from './rewrite.ts';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

const SYMPTOM = 'pkey-mismatch';
const AT_A = { vantages: ['A'] };

/** All of them. */
export const PKEY_MISMATCH_SCENES: readonly Scene[] = [
  {
    symptom: SYMPTOM,
    name: 'pkey-mismatch-limited',
    triggers: true,
    about:
      'Both ends took P_Key 0x7fff, the limited member of the default partition: each drops the packets of the other.',
    make: () => play(AT_A, (stage) => crossedSends(stage, { pkey: 0x7fff }, { pkey: 0x7fff })),
  },
  {
    symptom: SYMPTOM,
    name: 'pkey-mismatch-partitions',
    triggers: true,
    about: 'Two full members of different partitions.',
    make: () => play(AT_A, (stage) => crossedSends(stage, { pkey: 0x8001 }, { pkey: 0x8002 })),
  },
  {
    symptom: SYMPTOM,
    name: 'pkey-mismatch-full-and-limited',
    triggers: false,
    alsoFinds: ['no-reply'],
    about: 'A full and a limited member of one partition, which match: their silence has another cause.',
    make: () => play(AT_A, (stage) => crossedSends(stage, { pkey: 0xffff }, { pkey: 0x7fff })),
  },
  {
    symptom: SYMPTOM,
    name: 'pkey-mismatch-default',
    triggers: false,
    alsoFinds: ['no-reply'],
    about: 'Both ends in the default partition, and silence.',
    make: () => play(AT_A, (stage) => crossedSends(stage, {}, {})),
  },
  {
    symptom: SYMPTOM,
    name: 'pkey-mismatch-two-partitions',
    triggers: false,
    alsoFinds: ['no-reply'],
    about: 'Two connections in two partitions between the same hosts, and a firewall that lets neither pass.',
    make: () => play(AT_A, twoPartitions),
  },
  {
    symptom: SYMPTOM,
    name: 'pkey-mismatch-unchecked',
    triggers: false,
    alsoFinds: ['rule/p-key'],
    about: 'Ends with different P_Keys that answer each other: their adapters do not check them.',
    make: async () => withOtherPkeys(await play(AT_A, soundTraffic)),
  },
];

async function twoPartitions(stage: Stage): Promise<void> {
  await Promise.all([
    crossedSends(stage, { pkey: 0x8001, destQpn: 0x31 }, { pkey: 0x8001, destQpn: 0x41 }),
    crossedSends(stage, { pkey: 0x8002, destQpn: 0x32 }, { pkey: 0x8002, destQpn: 0x42 }),
  ]);
}

async function soundTraffic(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
  b.receive(3);
  for (let i = 0; i < 3; i++) demandStatus(await a.send(3_000), WcStatus.Success);
}

/** Packets of A with P_Key 0x8001, those of B with 0x8002. */
function withOtherPkeys(file: Uint8Array): Uint8Array {
  return rewriteCapture(file, (packet) => {
    const { bytes, view, frame } = packet;
    view.setUint16(frame.bthOffset + 2, bytes[11] === 1 ? 0x8001 : 0x8002);
    mendIcrc(packet);
    return true;
  });
}
