/** Scenes of `cnp-storm`: receivers that notify without reason or pace, and honest ones under load. */
import { ECN_MASK, Ecn } from 'rocev2/packets';
import { Direction } from 'rocev2/pcap';
import { type CongestionOptions, WcStatus } from 'rocev2/transport';
import { cnpFrame } from './ecn-misconfigured.ts';
import { mendChecksum, rewriteCapture } from './rewrite.ts';
import { play, type Scene } from './scene.ts';
import type { ConnectedPair } from './stage.ts';
import { demandStatus, type Stage } from './stage.ts';

/** All of them. */
export const CNP_STORM_SCENES: readonly Scene[] = [
  {
    symptom: 'cnp-storm',
    name: 'cnp-storm-more-than-packets',
    triggers: true,
    about:
      'B sends A a CNP every 10 us, whatever comes; A falls to a trickle. Captured at A, where no mark could be seen.',
    make: () => play({ vantages: ['A'] }, (stage) => withoutReason(stage, { perMessage: 40 })),
  },
  {
    symptom: 'cnp-storm',
    name: 'cnp-storm-without-marks',
    triggers: true,
    about: 'B sends one CNP for each packet, of which none is marked, as its own interface shows.',
    make: () => play({ vantages: ['B'], directions: true }, (stage) => withoutReason(stage, { perMessage: 5 })),
  },
  {
    symptom: 'cnp-storm',
    name: 'cnp-storm-interval-zero',
    triggers: true,
    about: 'Everything is marked, and B answers each packet with a CNP, at 10 Gb/s one in less than a microsecond.',
    make: () =>
      play({ vantages: ['A'] }, (stage) => marked(stage, { queuePairs: 1, everyNs: 0, sender: {}, share: 1 })),
  },
  {
    symptom: 'cnp-storm',
    name: 'cnp-incast',
    triggers: false,
    about:
      'Two fifths are marked, and B notifies each of eight queue pairs every 4 us at most: many CNPs, and each flow has its pace.',
    make: () => play({ vantages: ['B'] }, (stage) => marked(stage, { ...HONEST, queuePairs: 8 })),
  },
  {
    symptom: 'cnp-storm',
    name: 'cnp-marks-behind-capture',
    triggers: false,
    about: 'The capture is at A and the marks are set behind it: CNPs for packets that look unmarked.',
    make: () => play({ vantages: ['A'] }, (stage) => marked(stage, HONEST)),
  },
  {
    symptom: 'cnp-storm',
    name: 'cnp-marks-rewritten',
    triggers: false,
    about:
      'A mirror near B that rewrites ECN: hundreds of CNPs and not one mark, and nothing says that the capture is that of B.',
    make: async () => withoutMarks(await play({ vantages: ['B'] }, (stage) => marked(stage, HONEST))),
  },
];

/** One CNP for each flow in 4 us, and a sender that heeds it. */
const HONEST = {
  queuePairs: 2,
  everyNs: 4_000,
  sender: { reaction: { kind: 'dcqcn', profile: 'mlx' } },
  share: 0.4,
} as const;
const RATE_BPS = 10e9;

/** First at full speed, then one message of five packets at a time among many CNPs. */
async function withoutReason(stage: Stage, { perMessage }: { readonly perMessage: number }): Promise<void> {
  const a = stage.host('A', { congestion: { lineRateBps: RATE_BPS } });
  const b = stage.host('B', { congestion: { lineRateBps: RATE_BPS, notification: false } });
  const pair = await stage.connect(a, b, { timeout: 14 });
  demandStatus(await pair.a.write(pair.b, 40_000), WcStatus.Success);
  for (let i = 0; i < 60; i++) {
    demandStatus(await pair.a.write(pair.b, 5_000), WcStatus.Success);
    for (let k = 0; k < perMessage; k++) {
      stage.forge(cnpFrame(pair.a.qpn), undefined, Direction.Outbound);
      await stage.sleep(10_000);
    }
  }
}

interface MarkedTraffic {
  readonly queuePairs: number;
  /** The interval of CNPs. */
  readonly everyNs: number;
  readonly sender: CongestionOptions;
  /** Of the packets to B. */
  readonly share: number;
}

async function marked(stage: Stage, { queuePairs, everyNs, sender, share }: MarkedTraffic): Promise<void> {
  const a = stage.host('A', { congestion: { lineRateBps: RATE_BPS, ...sender } });
  const notification = { minTimeBetweenCnpsNs: everyNs };
  const b = stage.host('B', { congestion: { lineRateBps: RATE_BPS, notification } });
  stage.faults(b, { ceMark: share }, 'receive');
  const pairs: ConnectedPair[] = [];
  for (let i = 0; i < queuePairs; i++) pairs.push(await stage.connect(a, b, { timeout: 14 }));
  const writes = pairs.flatMap((pair) => Array.from({ length: 8 }, () => pair.a.write(pair.b, 100_000)));
  await Promise.race([Promise.all(writes), stage.sleep(20e6)]);
}

function withoutMarks(file: Uint8Array): Uint8Array {
  return rewriteCapture(file, (packet) => {
    const { view, frame } = packet;
    if ((frame.trafficClass & ECN_MASK) !== Ecn.Ce) return true;
    view.setUint8(frame.ipOffset + 1, (frame.trafficClass & ~ECN_MASK) | Ecn.Ect0);
    mendChecksum(packet);
    return true;
  });
}
