/** Scenes of `first-error`: a failure that causes others, and failures that are independent of each other. */
import { WcStatus } from 'rocev2/transport';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

/** All of them. */
export const FIRST_ERROR_SCENES: readonly Scene[] = [
  {
    symptom: 'first-error',
    name: 'first-error-rnr-then-silence',
    triggers: true,
    about:
      'A gives up because B posts no receives; its queue pair is in ERROR, and what B sends afterwards is never answered.',
    alsoFinds: ['rnr-exceeded'],
    make: () => play({ vantages: ['A'] }, rnrThenSilence),
  },
  {
    symptom: 'first-error',
    name: 'first-error-other-pair',
    triggers: true,
    about:
      'A wrong key ends one connection; the program at A then closes the other two, and what B still sends there is never answered.',
    alsoFinds: ['remote-access-error'],
    make: () => play({ vantages: ['B'] }, otherPairs),
  },
  {
    symptom: 'first-error',
    name: 'first-error-both-at-once',
    triggers: false,
    about:
      'A cable is pulled while both ends send, seen at both: two silences with one cause, and neither comes from the other.',
    alsoFinds: ['retry-exceeded'],
    make: () => play({ vantages: ['A', 'B'] }, bothAtOnce),
  },
  {
    symptom: 'first-error',
    name: 'first-error-unrelated',
    triggers: false,
    about: 'A wrong key between A and B, and a host C that never answered A.',
    alsoFinds: ['remote-access-error', 'no-reply'],
    make: () => play({ vantages: ['A'] }, unrelated),
  },
];

async function rnrThenSilence(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const { a: left, b: right } = await stage.connect(a, b, { rnrRetry: 2, retryCnt: 3, timeout: 9 });
  left.receive(10);
  demandStatus(await right.send(2_000), WcStatus.Success);
  demandStatus(await left.send(2_000), WcStatus.RnrRetryExcErr);
  await stage.sleep(1e6);
  demandStatus(await right.send(2_000), WcStatus.RetryExcErr);
  await stage.goOn(20e6);
}

async function otherPairs(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const options = { retryCnt: 3, timeout: 9 };
  const [first, ...others] = [
    await stage.connect(a, b, options),
    await stage.connect(a, b, options),
    await stage.connect(a, b, options),
  ];
  for (const { a: left, b: right } of [first, ...others]) {
    left.receive(4);
    demandStatus(await left.write(right, 3_000), WcStatus.Success);
    demandStatus(await right.send(3_000), WcStatus.Success);
  }
  demandStatus(await first.a.write(first.b, 3_000, { rkey: WRONG_KEY }), WcStatus.RemAccessErr);
  await stage.sleep(500_000);
  for (const { a: left } of others) left.qp.destroy();
  await stage.sleep(500_000);
  await Promise.all(others.map(({ b: right }) => right.send(3_000)));
  await stage.goOn(20e6);
}

async function bothAtOnce(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const { a: left, b: right } = await stage.connect(a, b, { retryCnt: 3, timeout: 9 });
  left.receive(10);
  right.receive(10);
  for (let i = 0; i < 3; i++) await Promise.all([left.send(2_000), right.send(2_000)]);
  stage.unplug(b);
  await Promise.all([left.send(2_000), right.send(2_000)]);
  await stage.goOn(20e6);
}

async function unrelated(stage: Stage): Promise<void> {
  const [a, b, c] = [stage.host('A'), stage.host('B'), stage.host('C')];
  const toB = await stage.connect(a, b, { retryCnt: 3, timeout: 9 });
  const toC = await stage.connect(a, c, { retryCnt: 3, timeout: 9 });
  stage.unplug(c);
  demandStatus(await toB.a.write(toB.b, 3_000), WcStatus.Success);
  demandStatus(await toB.a.write(toB.b, 3_000, { rkey: WRONG_KEY }), WcStatus.RemAccessErr);
  demandStatus(await toC.a.send(100), WcStatus.RetryExcErr);
  await stage.goOn(20e6);
}

const WRONG_KEY = 0x1234_5678;
