/** Scenes of `duplicate-requests`: ACKs that are lost on the way back, and retransmissions with another cause. */
import { type Frame, Op } from 'rocev2/packets';
import { WcStatus } from 'rocev2/transport';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

/** All of them. */
export const DUPLICATE_REQUESTS_SCENES: readonly Scene[] = [
  {
    symptom: 'duplicate-requests',
    name: 'duplicates-at-responder',
    triggers: true,
    about: 'Every third ACK is lost on the way back; the capture is of the host that sends them.',
    make: () => play({ vantages: ['B'] }, lostAcks),
  },
  {
    symptom: 'duplicate-requests',
    name: 'duplicates-at-requester',
    triggers: true,
    about: 'The same, captured where the ACKs do not arrive.',
    make: () => play({ vantages: ['A'] }, lostAcks),
  },
  {
    symptom: 'duplicate-requests',
    name: 'duplicates-both',
    triggers: true,
    about: 'The same, captured at both ends: one finding.',
    make: () => play({ vantages: ['A', 'B'] }, lostAcks),
  },
  {
    symptom: 'duplicate-requests',
    name: 'duplicates-one-lost-ack',
    triggers: false,
    about: 'One ACK of many is lost.',
    make: () => play({ vantages: ['B'] }, oneLostAck),
  },
  {
    symptom: 'duplicate-requests',
    name: 'duplicates-late-acks',
    triggers: false,
    about: 'Four ACKs take longer than the ACK timeout, and none is lost: the timeout is too short.',
    make: () => play({ vantages: ['A'] }, lateAcks),
  },
  {
    symptom: 'duplicate-requests',
    name: 'duplicates-lost-requests',
    triggers: false,
    about:
      'Requests get lost, in the middle and at the end of messages: retransmissions, but none of what had arrived.',
    alsoFinds: ['sequence-error'],
    make: () => play({ vantages: ['A', 'B'] }, lostRequests),
  },
  {
    symptom: 'duplicate-requests',
    name: 'duplicates-mirrored-twice',
    triggers: false,
    about: 'A mirror shows every packet twice.',
    make: () => play({ vantages: ['B'], seed: 3 }, doubled),
  },
];

async function lostAcks(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 8 });
  // Drops the ACK of every third WRITE once: the ACK of the retransmission gets through.
  const lost = new Set([2, 5, 8, 11].map((write) => 100 + 3 * write + 2));
  stage.rule({ port: 'B', match: (frame) => isAck(frame) && lost.delete(frame.psn), action: 'drop' });
  for (let i = 0; i < 12; i++) demandStatus(await a.write(b, 3_000), WcStatus.Success);
}

async function lateAcks(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 8 });
  for (const nth of [3, 8, 13, 18]) stage.rule({ port: 'B', match: isAck, nth, action: 'delay', delayNs: 1_043_000 });
  for (let i = 0; i < 12; i++) demandStatus(await a.write(b, 3_000), WcStatus.Success);
}

async function oneLostAck(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 8 });
  stage.rule({ port: 'B', match: isAck, nth: 3, action: 'drop' });
  for (let i = 0; i < 12; i++) demandStatus(await a.write(b, 3_000), WcStatus.Success);
}

async function lostRequests(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 8 });
  for (const nth of [2, 5, 9])
    stage.rule({ port: 'A', match: ({ opcode }) => opcode === Op.WriteLast, nth, action: 'drop' });
  for (const nth of [4, 8])
    stage.rule({ port: 'A', match: ({ opcode }) => opcode === Op.WriteMiddle, nth, action: 'drop' });
  for (let i = 0; i < 12; i++) demandStatus(await a.write(b, 3_000), WcStatus.Success);
}

async function doubled(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const pair = await stage.connect(a, b, { timeout: 8 });
  stage.faults(a, { duplicate: 1 });
  for (let i = 0; i < 6; i++) demandStatus(await pair.a.write(pair.b, 3_000), WcStatus.Success);
}

function isAck({ opcode }: Frame): boolean {
  return opcode === Op.Acknowledge;
}
