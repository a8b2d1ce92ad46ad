/** Scenes of `peer-restarted`: hosts with new queue pairs, and connections that end and begin otherwise. */
import { Op } from 'rocev2/packets';
import { WcStatus } from 'rocev2/transport';
import { roceFrame, station } from './forge.ts';
import { aeth } from './headers.ts';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

const SYMPTOM = 'peer-restarted';

/** All of them. */
export const PEER_RESTARTED_SCENES: readonly Scene[] = [
  {
    symptom: SYMPTOM,
    name: 'peer-restarted-into-the-void',
    triggers: true,
    about:
      'The process at B dies and starts again: it connects to A with a new queue pair, while A still sends to the old one.',
    make: () => play({ vantages: ['A'] }, (stage) => restarts(stage)),
  },
  {
    symptom: SYMPTOM,
    name: 'peer-restarted-two-connections',
    triggers: true,
    about: 'B loses two connections at once, and a third one to it works before their retries are used up.',
    make: () => play({ vantages: ['A'] }, twoLost),
  },
  {
    symptom: SYMPTOM,
    name: 'peer-restarted-same-numbers',
    triggers: true,
    about:
      'Both ends come back with the numbers of their queue pairs and other PSNs; the requests that were outstanding were never answered.',
    make: () => play({ vantages: ['A'] }, (stage) => lives(stage, 3)),
  },
  {
    symptom: SYMPTOM,
    name: 'peer-connected-again',
    triggers: false,
    about: 'The same numbers come again with other PSNs, and everything had been answered: a program that ran twice.',
    make: () => play({ vantages: ['A'] }, (stage) => lives(stage, 0)),
  },
  {
    symptom: SYMPTOM,
    name: 'peer-gives-up-and-connects-again',
    triggers: false,
    about: 'The way to a queue pair is lost; A gives up, and then connects again.',
    alsoFinds: ['retry-exceeded'],
    make: () => play({ vantages: ['A'] }, connectsAgain),
  },
  {
    symptom: SYMPTOM,
    name: 'peer-one-path-lost',
    triggers: false,
    about: 'One of two connections gets no answers any more, the other one goes on, and A opens a third.',
    alsoFinds: ['retry-exceeded'],
    make: () => play({ vantages: ['A'] }, onePathLost),
  },
  {
    symptom: SYMPTOM,
    name: 'peer-idle-for-minutes',
    triggers: false,
    about: 'A connection says nothing for ten minutes, and goes on.',
    make: () =>
      play({ vantages: ['A'] }, async (stage) => {
        const pair = await stage.connect(stage.host('A'), stage.host('B'));
        demandStatus(await pair.a.write(pair.b, 3_000), WcStatus.Success);
        await stage.sleep(600e9);
        demandStatus(await pair.a.write(pair.b, 3_000), WcStatus.Success);
      }),
  },
];

async function restarts(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const old = await stage.connect(a, b, { psns: [100, 200] });
  for (let i = 0; i < 4; i++) demandStatus(await old.a.write(old.b, 2_000), WcStatus.Success);
  old.b.qp.destroy();
  const lost = old.a.write(old.b, 2_000);
  await stage.sleep(3e6);
  const next = await stage.connect(b, a, { psns: [0x30_00_00, 0x40_00_00] });
  for (let i = 0; i < 4; i++) demandStatus(await next.a.write(next.b, 2_000), WcStatus.Success);
  demandStatus(await lost, WcStatus.RetryExcErr);
  await stage.goOn(20e6);
}

async function twoLost(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const [one, two] = [await stage.connect(a, b), await stage.connect(a, b, { psns: [5_000, 6_000] })];
  for (const { a: left, b: right } of [one, two, one, two])
    demandStatus(await left.write(right, 2_000), WcStatus.Success);
  one.b.qp.destroy();
  two.b.qp.destroy();
  const lost = [one.a.write(one.b, 2_000), two.a.write(two.b, 2_000)];
  await stage.sleep(3e6);
  const next = await stage.connect(a, b, { psns: [0x30_00_00, 0x40_00_00] });
  for (let i = 0; i < 4; i++) demandStatus(await next.a.write(next.b, 2_000), WcStatus.Success);
  for (const each of lost) demandStatus(await each, WcStatus.RetryExcErr);
  await stage.goOn(20e6);
}

async function connectsAgain(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const old = await stage.connect(a, b, { psns: [100, 200] });
  for (let i = 0; i < 4; i++) demandStatus(await old.a.write(old.b, 2_000), WcStatus.Success);
  old.b.qp.destroy();
  demandStatus(await old.a.write(old.b, 2_000), WcStatus.RetryExcErr);
  await stage.sleep(3e6);
  const next = await stage.connect(a, b, { psns: [0x30_00_00, 0x40_00_00] });
  for (let i = 0; i < 4; i++) demandStatus(await next.a.write(next.b, 2_000), WcStatus.Success);
  await stage.goOn(20e6);
}

async function onePathLost(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const [one, two] = [await stage.connect(a, b), await stage.connect(a, b, { psns: [5_000, 6_000] })];
  for (const { a: left, b: right } of [one, two]) demandStatus(await left.write(right, 2_000), WcStatus.Success);
  one.b.qp.destroy();
  const lost = one.a.write(one.b, 2_000);
  await stage.sleep(2e6);
  const next = await stage.connect(a, b, { psns: [0x30_00_00, 0x40_00_00] });
  for (const { a: left, b: right } of [next, two, next, two])
    demandStatus(await left.write(right, 2_000), WcStatus.Success);
  demandStatus(await lost, WcStatus.RetryExcErr);
  await stage.goOn(20e6);
}

/** Frames by hand: two lives of two queue pairs, the first one with requests at its end that nobody answers. */
async function lives(stage: Stage, outstanding: number): Promise<void> {
  stage.host('A');
  await life(stage, 0x12_00_00, 12, outstanding);
  await stage.sleep(2e9);
  await life(stage, 0x12_00_04, 9, 0);
}

async function life(stage: Stage, psn: number, count: number, outstanding: number): Promise<void> {
  for (let i = 0; i < count + outstanding; i++) {
    const [a, b] = [station(1), station(2)];
    const payload = new Uint8Array(256);
    const ask = { from: a, to: b, opcode: Op.SendOnly, destQpn: 0x22, psn: psn + i, ackReq: 1, payload } as const;
    const headers = aeth(0x1f, i + 1);
    const answer = { from: b, to: a, opcode: Op.Acknowledge, destQpn: 0x11, psn: psn + i, headers } as const;
    stage.forge(roceFrame({ ...ask, ipId: 1000 + i }));
    await stage.sleep(6_000);
    if (i < count) stage.forge(roceFrame({ ...answer, ipId: 2000 + i }));
    await stage.sleep(4_000);
  }
}
