/**
 * Scenes of `retry-exceeded`: traffic that worked and then gets no responses any more, and silences after which it goes
 * on.
 */
import { Op, OpFlag } from 'rocev2/packets';
import { WcStatus } from 'rocev2/transport';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

/** All of them. */
export const RETRY_EXCEEDED_SCENES: readonly Scene[] = [
  {
    symptom: 'retry-exceeded',
    name: 'retry-exceeded-cable',
    triggers: true,
    about:
      'Two megabytes flow, then the cable of B is pulled: eight tries, and A gives up. Connection management has the timeout and the retry count.',
    make: () => play({ vantages: ['A'] }, (stage) => cable(stage, true)),
  },
  {
    symptom: 'retry-exceeded',
    name: 'retry-exceeded-inferred',
    triggers: true,
    about: 'The same on a connection made before the capture: the timeout has to be read from the waits.',
    make: () => play({ vantages: ['A'] }, (stage) => cable(stage, false)),
  },
  {
    symptom: 'retry-exceeded',
    name: 'retry-exceeded-loss-bursts',
    triggers: true,
    about: 'A wire that loses frames in both directions, more and more, until a retry count of 2 does not suffice.',
    alsoFinds: ['sequence-error'],
    make: () => play({ vantages: ['mirror'], seed: 3 }, lossBursts),
  },
  {
    symptom: 'retry-exceeded',
    name: 'retry-exceeded-one-timeout',
    triggers: false,
    about: 'The last packet of a WRITE is lost, the ACK timeout runs out once, and the retransmission is answered.',
    make: () => play({ vantages: ['mirror'] }, oneTimeout),
  },
  {
    symptom: 'retry-exceeded',
    name: 'retry-exceeded-killed',
    triggers: false,
    about: 'The program at A is killed with a request unanswered: it is not retransmitted, and the capture goes on.',
    make: () => play({ vantages: ['A'] }, killed),
  },
  {
    symptom: 'retry-exceeded',
    name: 'retry-exceeded-capture-ends',
    triggers: false,
    about: 'The capture ends during the first retransmission of a request.',
    make: () => play({ vantages: ['A'] }, endsEarly),
  },
];

async function cable(stage: Stage, cm: boolean): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const { a: left, b: right } = await stage.connect(a, b, { cm, timeout: 9, retryCnt: 7 });
  for (let i = 0; i < 8; i++) demandStatus(await left.write(right, 1 << 15), WcStatus.Success);
  stage.unplug(b);
  demandStatus(await left.write(right, 5_000), WcStatus.RetryExcErr);
  await stage.goOn(20e6);
}

async function lossBursts(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const { a: left, b: right } = await stage.connect(a, b, { timeout: 9, retryCnt: 2 });
  let status: WcStatus = WcStatus.Success;
  for (let loss = 0.01; status === WcStatus.Success; loss = Math.min(0.9, loss * 1.5)) {
    stage.faults(a, { loss });
    stage.faults(b, { loss });
    status = await left.write(right, 20_000);
  }
  demandStatus(status, WcStatus.RetryExcErr);
  await stage.goOn(20e6);
}

async function oneTimeout(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 9 });
  for (let i = 0; i < 3; i++) demandStatus(await a.write(b, 10_000), WcStatus.Success);
  stage.rule({ port: 'A', match: ({ opcode }) => opcode === Op.WriteLast, nth: 1, action: 'drop' });
  for (let i = 0; i < 3; i++) demandStatus(await a.write(b, 10_000), WcStatus.Success);
}

async function killed(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const { a: left, b: right } = await stage.connect(a, b, { timeout: 9 });
  const other = await stage.connect(a, b, { timeout: 9 });
  for (let i = 0; i < 3; i++) demandStatus(await left.write(right, 10_000), WcStatus.Success);
  stage.rule({
    port: 'A',
    match: ({ destQpn, flags }) => destQpn === right.qpn && (flags & OpFlag.Last) !== 0,
    action: 'drop',
  });
  void left.write(right, 10_000);
  await stage.sleep(100_000);
  left.qp.destroy();
  for (let i = 0; i < 20; i++) {
    demandStatus(await other.a.write(other.b, 1_000), WcStatus.Success);
    await stage.sleep(5e6);
  }
}

async function endsEarly(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const { a: left, b: right } = await stage.connect(a, b, { timeout: 9 });
  for (let i = 0; i < 3; i++) demandStatus(await left.write(right, 10_000), WcStatus.Success);
  stage.unplug(b);
  void left.write(right, 1_000);
  await stage.sleep(2_300_000);
}
