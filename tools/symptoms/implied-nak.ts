/** Scenes of `implied-nak`: READ responses that are lost, and requesters that react at once or only after a timeout. */
import { type Frame, Op } from 'rocev2/packets';
import { WcStatus } from 'rocev2/transport';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage, type StageFrame } from './stage.ts';

const SYMPTOM = 'implied-nak';

/** All of them. */
export const IMPLIED_NAK_SCENES: readonly Scene[] = [
  {
    symptom: SYMPTOM,
    name: 'implied-nak-at-once',
    triggers: true,
    about:
      'A response in the middle of a READ is lost; the requester requests it again from the gap on as soon as it sees the next one.',
    make: () => play({ vantages: ['A'] }, (stage) => middleLost(stage, 'default')),
  },
  {
    symptom: SYMPTOM,
    name: 'implied-nak-after-timeout',
    triggers: true,
    about: 'The same with a requester that imitates rdma_rxe: it waits for its ACK timer.',
    make: () => play({ vantages: ['A'] }, (stage) => middleLost(stage, 'rxe-6.12')),
  },
  {
    symptom: SYMPTOM,
    name: 'implied-nak-next-read',
    triggers: true,
    about: 'rdma_rxe with three READs outstanding: the last response of the first is lost, and the next READ shows it.',
    make: () => play({ vantages: ['A'] }, nextRead),
  },
  {
    symptom: SYMPTOM,
    name: 'implied-nak-at-both',
    triggers: true,
    about: 'The first one again, seen at both ends.',
    make: () => play({ vantages: ['B', 'A'] }, (stage) => middleLost(stage, 'default')),
  },
  {
    symptom: SYMPTOM,
    name: 'implied-nak-sound-reads',
    triggers: false,
    about: 'Many READs outstanding, none of them in trouble.',
    make: () => play({ vantages: ['A'] }, soundReads),
  },
  {
    symptom: SYMPTOM,
    name: 'implied-nak-capture-loss',
    triggers: false,
    about: 'Sound READs of which the capture has lost responses: no request is repeated.',
    make: () => play({ vantages: ['A'], keep: everyNinthMissing() }, soundReads),
  },
];

async function middleLost(stage: Stage, peer: string): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A', { peer }), stage.host('B'), { timeout: 15 });
  for (let i = 0; i < 4; i++) demandStatus(await a.read(b, 8_000), WcStatus.Success);
  stage.rule({ port: 'B', match: isMiddle, nth: 3, action: 'drop' });
  for (let i = 0; i < 4; i++) demandStatus(await a.read(b, 8_000), WcStatus.Success);
}

async function nextRead(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A', { peer: 'rxe-6.12' }), stage.host('B'), { timeout: 10 });
  stage.rule({ port: 'B', match: ({ opcode }) => opcode === Op.ReadResponseLast, nth: 1, action: 'drop' });
  const reads = [a.read(b, 8_000), a.read(b, 8_000), a.read(b, 8_000)];
  for (const read of reads) demandStatus(await read, WcStatus.Success);
}

async function soundReads(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 10 });
  for (let round = 0; round < 4; round++) {
    const reads = [8_000, 100, 30_000, 1_024].map((length) => a.read(b, length));
    for (const read of reads) demandStatus(await read, WcStatus.Success);
  }
}

function isMiddle({ opcode }: Frame): boolean {
  return opcode === Op.ReadResponseMiddle;
}

/** Frames of data only. */
function everyNinthMissing(): (seen: StageFrame) => boolean {
  let count = 0;
  return ({ bytes }) => bytes.length < 500 || ++count % 9 !== 0;
}
