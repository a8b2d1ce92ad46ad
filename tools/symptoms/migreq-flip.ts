/** Scenes of `migreq-flip`: connections whose MigReq bit changes, and go silent for it, for something else, or not. */
import { IpAddress } from 'rocev2/packets';
import { MigState, WcStatus } from 'rocev2/transport';
import { play, type Scene } from './scene.ts';
import { type ConnectedPair, demandStatus, type Stage } from './stage.ts';

/** All of them. */
export const MIGREQ_FLIP_SCENES: readonly Scene[] = [
  {
    symptom: 'migreq-flip',
    name: 'migreq-flip-refused',
    triggers: true,
    about: 'The queue pair of A goes over to MigReq 0 midway, and B drops everything from then on.',
    make: () => play({ vantages: ['A'] }, requesterFlips),
  },
  {
    symptom: 'migreq-flip',
    name: 'migreq-flip-answers-refused',
    triggers: true,
    about: 'B goes over to MigReq 0: it answers on and on, and A, which drops its answers, sends the same again.',
    make: () => play({ vantages: ['B'] }, responderFlips),
  },
  {
    symptom: 'migreq-flip',
    name: 'migreq-flip-migration-refused',
    triggers: true,
    about: 'A migrates to another pair of addresses, where B answers nothing.',
    make: () => play({ vantages: ['A'] }, (stage) => migration(stage, true)),
  },
  {
    symptom: 'migreq-flip',
    name: 'migreq-flip-works',
    triggers: false,
    about: 'A goes over to MigReq 0, and B takes either: a note.',
    make: () => play({ vantages: ['A'] }, async (stage) => void (await flipped(stage))),
  },
  {
    symptom: 'migreq-flip',
    name: 'migreq-flip-migration',
    triggers: false,
    about: 'Path migration as it should be: both ends arm, A moves to its other address, and all goes on.',
    make: () => play({ vantages: ['A'] }, (stage) => migration(stage, false)),
  },
  {
    symptom: 'migreq-flip',
    name: 'migreq-flip-long-before',
    triggers: false,
    alsoFinds: ['retry-exceeded'],
    about: 'The bit changes, twenty messages are answered, and then the cable of B is pulled.',
    make: () =>
      play({ vantages: ['A'] }, async (stage) => {
        const pair = await flipped(stage);
        stage.unplug(pair.b.host);
        demandStatus(await pair.a.write(pair.b, 3_000), WcStatus.RetryExcErr);
        await stage.goOn(40e6);
      }),
  },
  {
    symptom: 'migreq-flip',
    name: 'migreq-flip-during-silence',
    triggers: false,
    alsoFinds: ['retry-exceeded'],
    about: 'The cable is pulled first; A changes the bit when two tries are without an answer.',
    make: () => play({ vantages: ['A'] }, duringSilence),
  },
  {
    symptom: 'migreq-flip',
    name: 'migreq-flip-notifications',
    triggers: false,
    alsoFinds: ['retry-exceeded'],
    about: 'CNPs always have MigReq 0, between ACKs that have 1; then a cable is pulled.',
    make: () => play({ vantages: ['A'] }, marksThenSilence),
  },
];

const TIMES = { timeout: 8, retryCnt: 5 } as const;

async function begin(stage: Stage): Promise<ConnectedPair> {
  const pair = await stage.connect(stage.host('A'), stage.host('B'), TIMES);
  for (let i = 0; i < 6; i++) demandStatus(await pair.a.write(pair.b, 3_000), WcStatus.Success);
  return pair;
}

async function requesterFlips(stage: Stage): Promise<void> {
  const { a, b } = await begin(stage);
  stage.rule({ port: 'B', direction: 'receive', match: ({ migReq }) => migReq === 0, action: 'drop' });
  await a.qp.modify({ migReq: 0 });
  demandStatus(await a.write(b, 3_000), WcStatus.RetryExcErr);
  await stage.goOn(40e6);
}

async function responderFlips(stage: Stage): Promise<void> {
  const { a, b } = await begin(stage);
  stage.rule({ port: 'A', direction: 'receive', match: ({ migReq }) => migReq === 0, action: 'drop' });
  await b.qp.modify({ migReq: 0 });
  demandStatus(await a.write(b, 3_000), WcStatus.RetryExcErr);
  await stage.goOn(40e6);
}

async function flipped(stage: Stage): Promise<ConnectedPair> {
  const pair = await begin(stage);
  await pair.a.qp.modify({ migReq: 0 });
  for (let i = 0; i < 20; i++) demandStatus(await pair.a.write(pair.b, 3_000), WcStatus.Success);
  return pair;
}

async function duringSilence(stage: Stage): Promise<void> {
  const { a, b } = await begin(stage);
  stage.unplug(b.host);
  const write = a.write(b, 3_000);
  await stage.sleep(2_500_000);
  await a.qp.modify({ migReq: 0 });
  demandStatus(await write, WcStatus.RetryExcErr);
  await stage.goOn(40e6);
}

/** Both hosts have a second address, which the alternate path goes between. */
async function migration(stage: Stage, refused: boolean): Promise<void> {
  const [a, b] = [stage.host('A', twoAddresses(1)), stage.host('B', twoAddresses(2))];
  const pair = await stage.connect(a, b, TIMES);
  const ends = [pair.a, pair.b];
  for (const [index, end] of ends.entries()) {
    const altAv = { destination: IpAddress.parse(`10.0.1.${2 - index}`), sourcePort: 50_001 };
    await end.qp.modify({ altAv, pathMigState: MigState.Rearm });
  }
  for (let i = 0; i < 6; i++) demandStatus(await pair.a.write(pair.b, 3_000), WcStatus.Success);
  if (refused) stage.rule({ port: 'B', direction: 'receive', match: ({ migReq }) => migReq === 1, action: 'drop' });
  await pair.a.qp.modify({ pathMigState: MigState.Migrated });
  for (let i = 0; i < (refused ? 1 : 6); i++) {
    demandStatus(await pair.a.write(pair.b, 3_000), refused ? WcStatus.RetryExcErr : WcStatus.Success);
  }
  await stage.goOn(40e6);
}

function twoAddresses(n: number): { readonly addresses: readonly string[] } {
  return { addresses: [`10.0.0.${n}/24`, `10.0.1.${n}/24`] };
}

/** A answers marked data of B with CNPs, before it goes silent to A. */
async function marksThenSilence(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A', { congestion: {} }), stage.host('B', { congestion: {} })];
  const pair = await stage.connect(a, b, TIMES);
  const marks = stage.rule({
    port: 'A',
    direction: 'receive',
    match: ({ payloadLength }) => payloadLength > 0,
    action: 'mark',
  });
  for (let i = 0; i < 6; i++) {
    demandStatus(await pair.a.write(pair.b, 3_000), WcStatus.Success);
    demandStatus(await pair.b.write(pair.a, 3_000), WcStatus.Success);
  }
  marks.end();
  stage.unplug(b);
  demandStatus(await pair.a.write(pair.b, 3_000), WcStatus.RetryExcErr);
  await stage.goOn(40e6);
}
