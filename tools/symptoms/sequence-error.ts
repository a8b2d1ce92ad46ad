/** Scenes of `sequence-error`: packets that are lost or overtaken, and captures that look like it. */
import { OpFlag } from 'rocev2/packets';
import { WcStatus } from 'rocev2/transport';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage, type StageFrame } from './stage.ts';

const SYMPTOM = 'sequence-error';

/** All of them. */
export const SEQUENCE_ERROR_SCENES: readonly Scene[] = [
  {
    symptom: SYMPTOM,
    name: 'sequence-error-loss-at-receiver',
    triggers: true,
    about: 'Three packets of WRITEs are lost; the receiver sees the gaps, and what fills them was sent again.',
    make: () => play({ vantages: ['B'] }, (stage) => drops(stage, [9, 31, 55])),
  },
  {
    symptom: SYMPTOM,
    name: 'sequence-error-loss-at-sender',
    triggers: true,
    about: 'The same captured at the sender: NAKs, and the packets that they request again.',
    make: () => play({ vantages: ['A'] }, (stage) => drops(stage, [9, 31, 55])),
  },
  {
    symptom: SYMPTOM,
    name: 'sequence-error-loss-at-both',
    triggers: true,
    about: 'The same captured at both ends: one finding, from the end that sees the gaps.',
    make: () => play({ vantages: ['A', 'B'] }, (stage) => drops(stage, [9, 31, 55])),
  },
  {
    symptom: SYMPTOM,
    name: 'sequence-error-reordering',
    triggers: true,
    about: 'Now and then a packet takes a longer way and comes 5 us late; the receiver has requested it again by then.',
    make: () => play({ vantages: ['B'] }, reordering),
  },
  {
    symptom: SYMPTOM,
    name: 'sequence-error-corruption',
    triggers: false,
    about:
      'A bit flips in two packets: the receiver drops them silently and requests them again, but they were not lost.',
    alsoFinds: ['icrc-invalid'],
    make: () => play({ vantages: ['B'] }, corruption),
  },
  {
    symptom: SYMPTOM,
    name: 'sequence-error-capture-loss',
    triggers: false,
    about: 'Sound traffic; the capture has lost a packet now and then.',
    make: () => play({ vantages: ['A'], keep: everyNinthMissing() }, sound),
  },
  {
    symptom: SYMPTOM,
    name: 'sequence-error-copies',
    triggers: false,
    about: 'Sound traffic seen by a mirror that shows some frames twice.',
    make: () => play({ vantages: ['mirror'] }, copies),
  },
  {
    symptom: SYMPTOM,
    name: 'sequence-error-wrap',
    triggers: false,
    about: 'Sound traffic whose PSNs go beyond 24 bits.',
    make: () => play({ vantages: ['A'] }, (stage) => sound(stage, [0xff_ff_f0, 0xff_ff_fe])),
  },
];

async function drops(stage: Stage, which: readonly number[]): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 12 });
  for (const nth of which) stage.rule({ port: 'A', match: ({ bthOffset }) => bthOffset >= 0, nth, action: 'drop' });
  for (let i = 0; i < 6; i++) demandStatus(await a.write(b, 20_000), WcStatus.Success);
}

async function reordering(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 12 });
  for (const nth of [5, 50, 90]) {
    const match = ({ flags }: { flags: number }) => (flags & OpFlag.Middle) !== 0;
    stage.rule({ port: 'A', match, nth, action: 'delay', delayNs: 5_000 });
  }
  for (let i = 0; i < 6; i++) demandStatus(await a.write(b, 20_000), WcStatus.Success);
}

async function corruption(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 12 });
  for (const nth of [11, 44]) {
    const match = ({ flags }: { flags: number }) => (flags & OpFlag.Middle) !== 0;
    stage.rule({ port: 'A', match, nth, action: 'corrupt' });
  }
  for (let i = 0; i < 6; i++) demandStatus(await a.write(b, 20_000), WcStatus.Success);
}

async function sound(stage: Stage, psns: readonly [number, number] = [100, 200]): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { psns });
  a.receive(8);
  b.receive(8);
  for (let i = 0; i < 4; i++) {
    demandStatus(await a.write(b, 20_000), WcStatus.Success);
    demandStatus(await b.send(5_000), WcStatus.Success);
    demandStatus(await a.read(b, 9_000), WcStatus.Success);
    demandStatus(await a.fetchAdd(b), WcStatus.Success);
  }
}

async function copies(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
  b.receive(8);
  for (const nth of [4, 17, 40]) {
    stage.rule({ match: ({ bthOffset }) => bthOffset >= 0, nth, action: 'duplicate', delayNs: 100 });
  }
  for (let i = 0; i < 4; i++) {
    demandStatus(await a.write(b, 10_000), WcStatus.Success);
    demandStatus(await a.send(5_000), WcStatus.Success);
  }
}

/** Data frames only: without an ACK the capture would be inconclusive. */
function everyNinthMissing(): (seen: StageFrame) => boolean {
  let count = 0;
  return ({ bytes }) => bytes.length < 500 || ++count % 9 !== 0;
}
