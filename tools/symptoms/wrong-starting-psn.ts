/** Scenes of `wrong-starting-psn`: PSNs that were exchanged wrongly, and first requests that fail otherwise. */
import { Op } from 'rocev2/packets';
import { CmAttribute, MAD_HEADER_BYTES } from 'rocev2/packets/management';
import { WcStatus } from 'rocev2/transport';
import { mendIcrc, rewriteCapture } from './rewrite.ts';
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
      'B expects requests from the PSN that it begins with itself: A is far ahead, and B asks for the one that it expects. B is heard.',
    make: () => play({ vantages: ['A'] }, (stage) => mismatched(stage, [0x5a_1b_2c, 0x1d_3e_4f], 0x1d_3e_4f, true)),
  },
  {
    symptom: SYMPTOM,
    name: 'wrong-psn-cut-off',
    triggers: true,
    about: 'A program hands PSNs over in 16 bits: B expects the lower half of the one that A begins with.',
    make: () => play({ vantages: ['A'] }, (stage) => mismatched(stage, [0x12_34_56, 0x50_00_00], 0x00_34_56)),
  },
  {
    symptom: SYMPTOM,
    name: 'wrong-psn-other-than-announced',
    triggers: true,
    about:
      'Connection management agreed on a PSN far ahead of the one that A begins with: B takes its requests for duplicates, and is silent.',
    make: async () => announced(await play({ vantages: ['A'] }, silent)),
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
    name: 'psn-announced-and-silent',
    triggers: false,
    about:
      'Connection management agreed on the PSN that A begins with, and B is unplugged: no answer, for another reason.',
    alsoFinds: ['no-reply'],
    make: () => play({ vantages: ['A'] }, silent),
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

/** @param psns with which A and B begin; @param expected what B expects of A; @param back B sends something before */
async function mismatched(
  stage: Stage,
  psns: readonly [number, number],
  expected: number,
  back = false,
): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const [left, right] = [stage.end(a), stage.end(b)];
  await stage.bringUp(left, right, { psns });
  await stage.bringUp(right, left, { psns: [psns[1], expected] });
  for (const end of [left, right]) end.receive(4);
  if (back) demandStatus(await right.send(500), WcStatus.Success);
  demandStatus(await left.send(500), WcStatus.RetryExcErr);
  await stage.goOn(20e6);
}

async function silent(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const pair = await stage.connect(a, b, { cm: true });
  stage.unplug(b);
  demandStatus(await pair.a.send(500), WcStatus.RetryExcErr);
  await stage.goOn(20e6);
}

/** The REP names another PSN. */
function announced(file: Uint8Array): Uint8Array {
  return rewriteCapture(file, ({ bytes, view, frame }) => {
    if (frame.opcode !== Op.UdSendOnly || view.getUint16(frame.payloadOffset + 16) !== CmAttribute.REP) return true;
    const at = frame.payloadOffset + MAD_HEADER_BYTES + REP_STARTING_PSN_AT;
    view.setUint8(at, view.getUint8(at) ^ 0x40);
    mendIcrc({ bytes, view, frame });
    return true;
  });
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

/** Behind the MAD header; packets/cm/rep.ts. */
const REP_STARTING_PSN_AT = 20;
