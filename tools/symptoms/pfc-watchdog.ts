/** Scenes of `pfc-watchdog`: a pause that lasts, and what is lost or not lost then. */
import { type Frame, Op, OpFlag } from 'rocev2/packets';
import { WcStatus } from 'rocev2/transport';
import { pfcFrame, station } from './forge.ts';
import { play, type Scene } from './scene.ts';
import { type ConnectedPair, demandStatus, type Stage } from './stage.ts';

/** All of them. */
export const PFC_WATCHDOG_SCENES: readonly Scene[] = [
  {
    symptom: 'pfc-watchdog',
    name: 'pfc-watchdog-flush',
    triggers: true,
    about:
      'Host B pauses class 3 for 300 ms. The switch drops what two queue pairs of A had sent to it, and B asks for it when it is back.',
    make: () => play({ vantages: ['A'] }, (stage) => flushed(stage, {})),
  },
  {
    symptom: 'pfc-watchdog',
    name: 'pfc-watchdog-last-packets',
    triggers: true,
    about:
      'A switch pauses for 300 ms, and the last packets of four messages are dropped: only ACK timeouts show it, after the pause.',
    make: () => play({ vantages: ['A'] }, lastPackets),
  },
  {
    symptom: 'pfc-watchdog',
    name: 'pfc-long-pause-ends',
    triggers: false,
    alsoFinds: ['pfc-storm'],
    about: 'The same pause, and the packets wait in the queue: all of them arrive when it ends.',
    make: () => play({ vantages: ['A'] }, (stage) => flushed(stage, { held: true, renewedNs: 300_000 })),
  },
  {
    symptom: 'pfc-watchdog',
    name: 'pfc-long-pause-other-class',
    triggers: false,
    alsoFinds: ['sequence-error'],
    about: 'Class 4 is paused, and packets of class 3 are lost.',
    make: () => play({ vantages: ['A'] }, (stage) => flushed(stage, { priority: 4 })),
  },
  {
    symptom: 'pfc-watchdog',
    name: 'pfc-long-pause-all-classes-lose',
    triggers: false,
    alsoFinds: ['sequence-error'],
    about: 'Connections of another class lose as much at the same time: that is no watchdog, but the link.',
    make: () => play({ vantages: ['A'] }, (stage) => flushed(stage, { secondClass: 0 })),
  },
  {
    symptom: 'pfc-watchdog',
    name: 'pfc-long-pause-lossy-path',
    triggers: false,
    alsoFinds: ['sequence-error'],
    about: 'Packets are lost before the pause, after it and always.',
    make: () => play({ vantages: ['A'] }, lossyPath),
  },
  {
    symptom: 'pfc-watchdog',
    name: 'pfc-pauses-and-losses',
    triggers: false,
    alsoFinds: ['sequence-error'],
    about: 'Pauses of 2 ms with breaks between them, and packets lost: no queue stood still for long.',
    make: () => play({ vantages: ['A'] }, (stage) => flushed(stage, { broken: true })),
  },
];

/** What is different from the first scene. */
interface Variation {
  readonly priority?: number;
  /** The packets wait until the end of the pause. */
  readonly held?: boolean;
  /** Traffic class of the second queue pair. */
  readonly secondClass?: number;
  /** Each pause is ended by hand. */
  readonly broken?: boolean;
  /** Distance of the pauses. */
  readonly renewedNs?: number;
}

/** Long enough that no ACK timeout falls into the pause. */
const PATIENT = { trafficClass: 106, timeout: 19 } as const;
/** On the 10 Gb/s of a stage the longest pause lasts 3.4 ms. */
const RENEWED_NS = 2e6;

async function flushed(stage: Stage, variation: Variation): Promise<void> {
  const { priority = 3, held = false, secondClass = 106, broken = false, renewedNs = RENEWED_NS } = variation;
  const times = { renewedNs, broken };
  const [a, b] = [stage.host('A'), stage.host('B')];
  const pairs = [
    await stage.connect(a, b, PATIENT),
    await stage.connect(a, b, { ...PATIENT, trafficClass: secondClass }),
  ];
  for (const pair of pairs) demandStatus(await pair.a.write(pair.b, 5_000), WcStatus.Success);
  await pause(stage, 2, priority, 200e6, times);
  const queue = held
    ? stage.rule({ port: 'B', direction: 'receive', match: isData, action: 'delay', delayNs: 100e6 })
    : stage.rule({ port: 'B', direction: 'receive', match: isData, action: 'drop' });
  const writes = pairs.map((pair) => pair.a.write(pair.b, 6_000));
  await pause(stage, 2, priority, 100e6, times);
  queue.end();
  stage.forge(pfcFrame(station(2).mac, { [priority]: 0 }));
  await stage.sleep(1e6);
  writes.push(...pairs.map((pair) => pair.a.write(pair.b, 5_000)));
  for (const write of writes) demandStatus(await write, WcStatus.Success);
  await stage.goOn(2e9);
}

async function lastPackets(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const pairs: ConnectedPair[] = [];
  for (let i = 0; i < 4; i++) pairs.push(await stage.connect(a, b, { ...PATIENT, timeout: 15 }));
  for (const pair of pairs) demandStatus(await pair.a.write(pair.b, 5_000), WcStatus.Success);
  await pause(stage, 0xfe, 3, 240e6);
  const queue = stage.rule({ port: 'A', match: isData, action: 'drop' });
  const writes = pairs.map((pair) => pair.a.write(pair.b, 5_000));
  await pause(stage, 0xfe, 3, 60e6);
  queue.end();
  stage.forge(pfcFrame(station(0xfe).mac, { 3: 0 }));
  for (const write of writes) demandStatus(await write, WcStatus.Success);
  await stage.goOn(1e9);
}

async function lossyPath(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), PATIENT);
  const lose = async (count: number) => {
    for (let i = 0; i < count; i++) {
      stage.rule({ port: 'A', match: ({ opcode }) => opcode === Op.WriteFirst, nth: 1, action: 'drop' });
      demandStatus(await a.write(b, 6_000), WcStatus.Success);
      await stage.sleep(20e6);
    }
  };
  await lose(10);
  await pause(stage, 2, 3, 200e6);
  await lose(2);
  await pause(stage, 2, 3, 20e6);
  stage.forge(pfcFrame(station(2).mac, { 3: 0 }));
  await lose(30);
}

/** Pauses of a station for so long, each renewed before it runs out. */
async function pause(
  stage: Stage,
  from: number,
  priority: number,
  lastsNs: number,
  { renewedNs = RENEWED_NS, broken = false }: Variation = {},
): Promise<void> {
  const { mac } = station(from);
  for (let left = lastsNs; left > 0; left -= renewedNs) {
    stage.forge(pfcFrame(mac, { [priority]: 0xff_ff }));
    await stage.sleep(renewedNs - 100_000);
    if (broken) stage.forge(pfcFrame(mac, { [priority]: 0 }));
    await stage.sleep(100_000);
  }
}

function isData({ flags, payloadLength }: Frame): boolean {
  return (flags & OpFlag.Request) !== 0 && payloadLength > 0;
}
