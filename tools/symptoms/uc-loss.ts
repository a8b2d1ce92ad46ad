/** Scenes of `uc-loss`: messages of UC that lose packets, and captures that look like it. */
import { SERVICE_MASK, Service } from 'rocev2/packets';
import { QpState, QpType, WcStatus, WrOpcode } from 'rocev2/transport';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage, type StageFrame } from './stage.ts';

const SYMPTOM = 'uc-loss';

/** All of them. */
export const UC_LOSS_SCENES: readonly Scene[] = [
  {
    symptom: SYMPTOM,
    name: 'uc-loss-beside-rc',
    triggers: true,
    about:
      'A sends messages of ten packets over UC, and the network loses three packets; an RC connection beside it loses nothing.',
    make: () =>
      play({ vantages: ['B'] }, async (stage) => {
        drop(stage, [5, 11, 147]);
        await sends(stage, { messages: 30, beside: true });
      }),
  },
  {
    symptom: SYMPTOM,
    name: 'uc-loss-alone',
    triggers: true,
    about: 'Whole messages of one packet and parts of larger ones are lost, and nothing else is in the capture.',
    make: () =>
      play({ vantages: ['B'] }, async (stage) => {
        drop(stage, [4, 17, 18]);
        await sends(stage, { messages: 24, bytes: [500, 2_500] });
      }),
  },
  {
    symptom: SYMPTOM,
    name: 'uc-loss-before-both',
    triggers: true,
    about: 'Captured at both ends: A has sent everything, and B lacks four packets.',
    make: () =>
      play({ vantages: ['A', 'B'] }, async (stage) => {
        drop(stage, [3, 30, 31, 60]);
        await sends(stage, { messages: 20, beside: true });
      }),
  },
  {
    symptom: SYMPTOM,
    name: 'uc-late',
    triggers: false,
    about: 'Now and then a packet of UC is captured a few microseconds late, behind others: nothing is missing.',
    make: () =>
      play({ vantages: ['B'] }, async (stage) => {
        for (const nth of [7, 40, 90]) stage.rule({ port: 'A', match: isUc, nth, action: 'delay', delayNs: 4_000 });
        await sends(stage, { messages: 20 });
      }),
  },
  {
    symptom: SYMPTOM,
    name: 'uc-capture-loss',
    triggers: false,
    about: 'The capture loses packets now and then, of an RC connection too, which acknowledges them.',
    make: () =>
      play({ vantages: ['A'], keep: everyEleventhMissing() }, (stage) => sends(stage, { messages: 30, beside: true })),
  },
  {
    symptom: SYMPTOM,
    name: 'uc-from-the-middle',
    triggers: false,
    about: 'The capture begins and ends in the middle of a message.',
    make: () =>
      play({ vantages: ['A'], keep: ({ timeNs }) => timeNs > 30_000 && timeNs < 150_000 }, (stage) =>
        sends(stage, { messages: 20 }),
      ),
  },
  {
    symptom: SYMPTOM,
    name: 'uc-sound',
    triggers: false,
    about: 'Messages of many sizes over UC, with pauses and a PSN that goes beyond 24 bits.',
    make: () =>
      play({ vantages: ['A'] }, (stage) =>
        sends(stage, { messages: 20, bytes: [10, 9_000, 1_024], firstPsn: 0xff_ff_f0, pauseNs: 200e6 }),
      ),
  },
];

interface UcLoad {
  readonly messages: number;
  /** In turn; default 10,000. */
  readonly bytes?: readonly number[];
  /** An RC connection beside it. */
  readonly beside?: boolean;
  readonly firstPsn?: number;
  readonly pauseNs?: number;
}

async function sends(stage: Stage, { messages, bytes = [10_000], beside = false, firstPsn = 5, pauseNs }: UcLoad) {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const left = stage.end(a);
  const qp = left.pd.createQp({ sendCq: left.sendCq, recvCq: left.recvCq, type: QpType.Uc });
  const [destination] = b.addresses;
  if (destination === undefined) throw new TypeError('B has no address');
  await qp.modify({ state: QpState.Init, access: 0 });
  await qp.modify({ state: QpState.Rtr, av: { destination }, destQpn: 0x77, rqPsn: 1, mtu: 1024 });
  await qp.modify({ state: QpState.Rts, sqPsn: firstPsn });
  const pair = beside ? await stage.connect(a, b, { timeout: 14 }) : undefined;
  for (let i = 0; i < messages; i++) {
    const length = bytes[i % bytes.length] ?? 0;
    qp.postSend({ wrId: i, opcode: WrOpcode.Send, sges: [{ mr: left.mr, length }] });
    if (pair !== undefined) demandStatus(await pair.a.write(pair.b, 3_000), WcStatus.Success);
    await stage.sleep(pauseNs ?? 10_000);
  }
}

function drop(stage: Stage, which: readonly number[]): void {
  for (const nth of which) stage.rule({ port: 'A', match: isUc, nth, action: 'drop' });
}

function isUc({ bthOffset, opcode }: { bthOffset: number; opcode: number }): boolean {
  return bthOffset >= 0 && (opcode & SERVICE_MASK) === Service.Uc;
}

/** Of data frames. */
function everyEleventhMissing(): (seen: StageFrame) => boolean {
  let count = 0;
  return ({ bytes }) => bytes.length < 500 || ++count % 11 !== 0;
}
