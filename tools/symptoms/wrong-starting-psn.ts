/** Scenes of `wrong-starting-psn`: starting PSNs that were exchanged wrongly, and first requests that fail otherwise. */
import { Op } from 'rocev2/packets';
import { WcStatus } from 'rocev2/transport';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

const SYMPTOM = 'wrong-starting-psn';

/** All of them. */
export const WRONG_STARTING_PSN_SCENES: readonly Scene[] = [
  {
    symptom: SYMPTOM,
    name: 'wrong-psn-swapped',
    triggers: true,
    about:
      'B expects requests from the PSN that it begins with itself: A is far ahead, and B asks for the PSN that it expects.',
    make: () => play({ vantages: ['A'] }, (stage) => mismatched(stage, [0x50_00_00, 0x10_00_00], 0x10_00_00)),
  },
  {
    symptom: SYMPTOM,
    name: 'wrong-psn-cut-off',
    triggers: true,
    about:
      'A program stores PSNs in 16 bits: A begins far behind what B expects, and B takes its requests for duplicates.',
    make: () => play({ vantages: ['A'] }, (stage) => mismatched(stage, [0x00_34_56, 0x10_00_00], 0x12_34_56)),
  },
  {
    symptom: SYMPTOM,
    name: 'wrong-psn-at-responder',
    triggers: true,
    about: 'Captured at B, and the bytes of the PSN are in the other order.',
    make: () => play({ vantages: ['B'] }, (stage) => mismatched(stage, [0x56_34_12, 0x10_00_00], 0x12_34_56)),
  },
  {
    symptom: SYMPTOM,
    name: 'first-request-lost',
    triggers: false,
    about: 'The first request of a connection is lost: B asks for its PSN, and gets it.',
    alsoFinds: ['sequence-error'],
    make: () => play({ vantages: ['B'] }, firstLost),
  },
  {
    symptom: SYMPTOM,
    name: 'psn-across-the-wrap',
    triggers: false,
    about: 'Starting PSNs close to the end of 24 bits, and close to each other; everything is answered.',
    make: () => play({ vantages: ['A'] }, (stage) => sound(stage, [0xff_ff_fe, 1])),
  },
  {
    symptom: SYMPTOM,
    name: 'first-requests-of-others',
    triggers: false,
    about: 'One connection gets no answers, and another one between the same hosts loses a packet, which is asked for.',
    alsoFinds: ['no-reply', 'sequence-error'],
    make: () => play({ vantages: ['A'] }, beside),
  },
];

/** @param psns with which A and B begin; @param expected what B expects of A */
async function mismatched(stage: Stage, psns: readonly [number, number], expected: number): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const [left, right] = [stage.end(a), stage.end(b)];
  await stage.bringUp(left, right, { psns });
  await stage.bringUp(right, left, { psns: [psns[1], expected] });
  right.receive(4);
  demandStatus(await left.send(500), WcStatus.RetryExcErr);
  await stage.goOn(20e6);
}

async function firstLost(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { psns: [0x50_00_00, 0x10_00_00] });
  b.receive(4);
  stage.rule({ port: 'A', match: ({ opcode }) => opcode === Op.SendOnly, nth: 1, action: 'drop' });
  const all = [a.send(500), a.send(500), a.send(500)];
  for (const each of all) demandStatus(await each, WcStatus.Success);
}

async function sound(stage: Stage, psns: readonly [number, number]): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { psns });
  for (const end of [a, b]) end.receive(8);
  for (let i = 0; i < 6; i++) {
    demandStatus(await a.send(3_000), WcStatus.Success);
    demandStatus(await b.send(3_000), WcStatus.Success);
  }
}

async function beside(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const left = stage.end(a);
  // A number that no queue pair of B has.
  await stage.bringUp(left, { qpn: 0x77, addresses: b.addresses }, { psns: [0x50_00_00, 0x10_00_00] });
  const other = await stage.connect(a, b, { psns: [100, 200] });
  stage.rule({ port: 'A', match: ({ opcode }) => opcode === Op.WriteMiddle, nth: 3, action: 'drop' });
  const silent = left.send(500);
  for (let i = 0; i < 3; i++) demandStatus(await other.a.write(other.b, 5_000), WcStatus.Success);
  demandStatus(await silent, WcStatus.RetryExcErr);
  await stage.goOn(20e6);
}
