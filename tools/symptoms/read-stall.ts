/** Scenes of `read-stall`: READs that wait for responder resources, exceed them, or simply run. */

import { Op } from 'rocev2/packets';
import { CmAttribute, MAD_HEADER_BYTES } from 'rocev2/packets/management';
import { WcStatus } from 'rocev2/transport';
import { mendIcrc, rewriteCapture } from './rewrite.ts';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage } from './stage.ts';

/** All of them. */
export const READ_STALL_SCENES: readonly Scene[] = [
  {
    symptom: 'read-stall',
    name: 'read-stall-depth-two',
    triggers: true,
    about:
      'A long way, small READs, and two of them at a time, as the connection managers agreed: most of the time nothing moves.',
    make: () =>
      play({ vantages: ['A'], latencyNs: FAR_NS }, (stage) => reads(stage, { cm: true, depth: 2, count: 40 })),
  },
  {
    symptom: 'read-stall',
    name: 'read-stall-depth-one',
    triggers: true,
    about: 'One at a time, as agreed: the worst case.',
    make: () =>
      play({ vantages: ['A'], latencyNs: FAR_NS }, (stage) => reads(stage, { cm: true, depth: 1, count: 24 })),
  },
  {
    symptom: 'read-stall',
    name: 'read-stall-overrun',
    triggers: true,
    about: 'A has eight READs outstanding, though B announced that it answers two at a time.',
    make: async () =>
      overrun(await play({ vantages: ['A'] }, (stage) => reads(stage, { cm: true, depth: 8, count: 40 }))),
  },
  {
    symptom: 'read-stall',
    name: 'read-stall-unknown-agreement',
    triggers: false,
    about: 'The first scene without connection management in it: a depth that the application may have chosen.',
    make: () =>
      play({ vantages: ['A'], latencyNs: FAR_NS }, (stage) => reads(stage, { cm: false, depth: 2, count: 40 })),
  },
  {
    symptom: 'read-stall',
    name: 'read-bandwidth-bound',
    triggers: false,
    about: 'Two large READs at a time over a short way: the limit is reached all the time, and the link is never idle.',
    make: () =>
      play({ vantages: ['A'], rateBps: 1e9 }, (stage) =>
        reads(stage, { cm: true, depth: 2, count: 20, bytes: 20_000 }),
      ),
  },
  {
    symptom: 'read-stall',
    name: 'read-one-by-one',
    triggers: false,
    about: 'A program that waits for each READ, with room for sixteen.',
    make: () =>
      play({ vantages: ['A'], latencyNs: FAR_NS }, (stage) =>
        reads(stage, { cm: true, depth: 16, count: 24, together: 1 }),
      ),
  },
  {
    symptom: 'read-stall',
    name: 'read-in-batches',
    triggers: false,
    about:
      'A program that posts sixteen READs, all that are agreed on, and waits for all of them before it posts the next.',
    make: () =>
      play({ vantages: ['A'], latencyNs: FAR_NS }, (stage) =>
        reads(stage, { cm: true, depth: 16, count: 96, together: 16 }),
      ),
  },
  {
    symptom: 'read-stall',
    name: 'read-overtaken-by-its-repetition',
    triggers: false,
    about:
      'One READ at a time, as agreed; some are held up for longer than the ACK timeout, and come after their own repetition.',
    make: () => play({ vantages: ['B'], rateBps: 1e9 }, overtaken),
  },
];

/** 100 us each way: 20 km. */
const FAR_NS = 100_000;

interface ReadLoad {
  readonly cm: boolean;
  /** How many may be outstanding. */
  readonly depth: number;
  readonly count: number;
  readonly bytes?: number;
  /** Posted at a time; the next ones when all of these are done. Default: all. */
  readonly together?: number;
}

async function reads(stage: Stage, { cm, depth, count, bytes = 512, together = count }: ReadLoad): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), {
    cm,
    maxRdAtomic: depth,
    maxDestRdAtomic: depth,
    timeout: 14,
  });
  for (let left = count; left > 0; left -= together) {
    const batch = Array.from({ length: Math.min(left, together) }, () => a.read(b, bytes));
    for (const read of batch) demandStatus(await read, WcStatus.Success);
  }
}

async function overtaken(stage: Stage): Promise<void> {
  for (const nth of [4, 9, 14])
    stage.rule({
      port: 'A',
      match: ({ opcode }) => opcode === Op.ReadRequest,
      nth,
      action: 'delay',
      delayNs: ACK_TIMEOUT_NS + 1_300_000,
    });
  await reads(stage, { cm: true, depth: 1, count: 24, bytes: 100_000 });
}

/** 4.096 us * 2^14. */
const ACK_TIMEOUT_NS = 67_108_864;

/** The REP announces two responder resources. */
function overrun(file: Uint8Array): Uint8Array {
  return rewriteCapture(file, ({ bytes, view, frame }) => {
    if (frame.opcode !== Op.UdSendOnly || view.getUint16(frame.payloadOffset + 16) !== CmAttribute.REP) return true;
    view.setUint8(frame.payloadOffset + MAD_HEADER_BYTES + REP_RESPONDER_RESOURCES_AT, 2);
    mendIcrc({ bytes, view, frame });
    return true;
  });
}

/** Behind the MAD header; packets/cm/rep.ts. */
const REP_RESPONDER_RESOURCES_AT = 24;
