/** Scenes of `pfc-storm`: ports that pause all the time, and pauses of a healthy network. */
import { WcStatus } from 'rocev2/transport';
import { pfcFrame, station } from './forge.ts';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

/** All of them. */
export const PFC_STORM_SCENES: readonly Scene[] = [
  {
    symptom: 'pfc-storm',
    name: 'pfc-storm-host',
    triggers: true,
    about: 'Host B is stuck and renews its pause of class 3 every 200 us for 20 ms.',
    make: () => play({ vantages: ['A'] }, (stage) => pauses(stage, { everyNs: 200_000, count: 100, lastsNs: 0 })),
  },
  {
    symptom: 'pfc-storm',
    name: 'pfc-storm-congestion',
    triggers: true,
    about: 'A switch pauses class 3 for 150 us of every millisecond: nothing else holds the senders back.',
    make: () =>
      play({ vantages: ['A'] }, (stage) =>
        pauses(stage, { everyNs: 1e6, count: 30, lastsNs: 150_000, switchPort: true }),
      ),
  },
  {
    symptom: 'pfc-storm',
    name: 'pfc-storm-wrong-class',
    triggers: true,
    about: 'The same storm in class 4, while RoCE travels in class 3.',
    make: () =>
      play({ vantages: ['A'] }, (stage) => pauses(stage, { everyNs: 200_000, count: 100, lastsNs: 0, priority: 4 })),
  },
  {
    symptom: 'pfc-storm',
    name: 'pfc-occasional',
    triggers: false,
    about: 'A dozen pauses of 10 us in 20 ms, each ended by hand.',
    make: () => play({ vantages: ['A'] }, (stage) => pauses(stage, { everyNs: 1.6e6, count: 12, lastsNs: 10_000 })),
  },
  {
    symptom: 'pfc-storm',
    name: 'pfc-many-short',
    triggers: false,
    about: 'Two hundred pauses of 5 us in 30 ms: 3 % of the time, as in a busy and sound network.',
    make: () => play({ vantages: ['A'] }, (stage) => pauses(stage, { everyNs: 150_000, count: 200, lastsNs: 5_000 })),
  },
  {
    symptom: 'pfc-storm',
    name: 'pfc-short-burst',
    triggers: false,
    about: 'An incast of 3 ms, in which pauses are all that holds the senders back, and then nothing more.',
    make: () => play({ vantages: ['A'] }, (stage) => pauses(stage, { everyNs: 50_000, count: 60, lastsNs: 45_000 })),
  },
];

interface PauseScene {
  readonly everyNs: number;
  readonly count: number;
  /** 0: never ended, renewed by the next. */
  readonly lastsNs: number;
  readonly priority?: number;
  /** The port of a switch sends the pauses, not host B. */
  readonly switchPort?: boolean;
}

/** RoCE with DSCP 26 goes on beside them. */
async function pauses(
  stage: Stage,
  { everyNs, count, lastsNs, priority = 3, switchPort = false }: PauseScene,
): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { trafficClass: 106, timeout: 14 });
  const { mac } = station(switchPort ? 0xfe : 2);
  for (let i = 0; i < count; i++) {
    stage.forge(pfcFrame(mac, { [priority]: 0xff_ff }));
    if (lastsNs > 0) {
      await stage.sleep(lastsNs);
      stage.forge(pfcFrame(mac, { [priority]: 0 }));
    }
    await stage.sleep(everyNs - lastsNs);
    if (i % 10 === 9) demandStatus(await a.write(b, 3_000), WcStatus.Success);
  }
}
