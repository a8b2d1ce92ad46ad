/** Scenes of `rnr-exceeded`: a receiver that is never ready, and receivers that become ready. */
import { WcStatus } from 'rocev2/transport';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

/** All of them. */
export const RNR_EXCEEDED_SCENES: readonly Scene[] = [
  {
    symptom: 'rnr-exceeded',
    name: 'rnr-exceeded-three-retries',
    triggers: true,
    about:
      'Two SENDs find receives, the third finds none: four tries with RNR retry count 3, timer 1.28 ms each, and A gives up.',
    make: () => play({ vantages: ['A'] }, (stage) => exhausted(stage, false)),
  },
  {
    symptom: 'rnr-exceeded',
    name: 'rnr-exceeded-cm',
    triggers: true,
    about: 'The same with the RNR retry count known from connection management, captured at B.',
    make: () => play({ vantages: ['B'] }, (stage) => exhausted(stage, true)),
  },
  {
    symptom: 'rnr-exceeded',
    name: 'rnr-exceeded-for-ever',
    triggers: true,
    about:
      'RNR retry count 7 and timer code 0, 655 ms: A retransmits one SEND infinitely, and the capture ends before B posts a receive.',
    make: () => play({ vantages: ['A'] }, forEver),
  },
  {
    symptom: 'rnr-exceeded',
    name: 'rnr-exceeded-last-packet',
    triggers: true,
    about: 'The capture ends with the fourth refusal of one SEND; connection management has announced three retries.',
    make: () => play({ vantages: ['A'] }, (stage) => exhausted(stage, true, false)),
  },
  {
    symptom: 'rnr-exceeded',
    name: 'rnr-exceeded-timer-zero',
    triggers: true,
    about:
      'RNR timer code 0: a receive is posted 1 ms late, and the SEND waits for 655 ms, nearly all the time there is.',
    make: () => play({ vantages: ['A'] }, timerZero),
  },
  {
    symptom: 'rnr-exceeded',
    name: 'rnr-exceeded-ends-well',
    triggers: false,
    about: 'Twice not ready, then a receive is posted and all goes on.',
    make: () => play({ vantages: ['A'] }, endsWell),
  },
  {
    symptom: 'rnr-exceeded',
    name: 'rnr-exceeded-capture-ends',
    triggers: false,
    about: 'The capture ends after the first RNR NAK.',
    make: () => play({ vantages: ['A'] }, firstNakOnly),
  },
];

/**
 * The REQ carries the retry count for the passive end of a connection: with connection management B is the requester
 * and A is not ready.
 */
async function exhausted(stage: Stage, cm: boolean, goesOn = true): Promise<void> {
  const pair = await stage.connect(stage.host('A'), stage.host('B'), { cm, rnrRetry: 3, minRnrTimer: 14 });
  const [requester, asked] = cm ? [pair.b, pair.a] : [pair.a, pair.b];
  asked.receive(2);
  for (let i = 0; i < 2; i++) demandStatus(await requester.send(3_000), WcStatus.Success);
  demandStatus(await requester.send(3_000), WcStatus.RnrRetryExcErr);
  if (goesOn) await stage.goOn(30e6);
}

async function forEver(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { rnrRetry: 7, minRnrTimer: 0, timeout: 20 });
  b.receive();
  demandStatus(await a.send(100), WcStatus.Success);
  void a.send(100);
  await stage.sleep(20 * 655.36e6 + 1e6);
}

async function timerZero(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { rnrRetry: 7, minRnrTimer: 0 });
  const late = a.send(100);
  await stage.sleep(1_000_000);
  b.receive();
  demandStatus(await late, WcStatus.Success);
}

async function endsWell(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { rnrRetry: 7, minRnrTimer: 14 });
  b.receive();
  demandStatus(await a.send(3_000), WcStatus.Success);
  const late = a.send(3_000);
  await stage.sleep(2_000_000);
  b.receive(100);
  demandStatus(await late, WcStatus.Success);
  for (let i = 0; i < 90; i++) {
    demandStatus(await a.send(500), WcStatus.Success);
    await stage.sleep(500_000);
  }
}

async function firstNakOnly(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { rnrRetry: 3, minRnrTimer: 14 });
  b.receive();
  demandStatus(await a.send(3_000), WcStatus.Success);
  void a.send(100);
  await stage.sleep(20_000);
}
