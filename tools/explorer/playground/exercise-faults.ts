/**
 * The hidden faults of exercises: how each is made, what proves it, and why. Owns the list, as data; every proof is
 * held by a test against every other fault, so that an exercise has one right answer.
 */
import type { Prng } from 'rocev2/sim';
import type { Condition } from './conditions.ts';

/** Parts of a scenario, as `parseScenario` takes them. */
export type FaultyScenario = Readonly<Record<string, unknown>>;

/** One kind of fault. */
export interface HiddenFault {
  /** As the learner chooses it. */
  readonly name: string;
  /** A connection that has it; what does not matter is drawn. */
  readonly make: (random: Prng) => FaultyScenario;
  /** What is seen at the end of it, and of no other. */
  readonly proof: readonly Condition[];
  /** How an engineer tells. */
  readonly because: string;
}

/** All of them. A is the requester everywhere. */
export const HIDDEN_FAULTS: readonly HiddenFault[] = [
  {
    name: 'The network lost a packet in the middle of a message.',
    make: (random) => ({
      operations: [write(random)],
      interventions: [{ host: 0, packet: 1 + random.below(3), action: 'drop' }],
    }),
    proof: [
      { see: 'value', of: 'B', path: 'counters.outOfSeqRequest', is: 1 },
      { see: 'value', of: 'B', path: 'counters.duplicateRequest', is: 0 },
      { see: 'value', of: 'B', path: 'counters.badIcrc', is: 0 },
      { see: 'packet', again: true, atLeast: 1 },
    ],
    because:
      'B sent one NAK, "PSN sequence error", A went back, and the missing packet never came a second time: it was lost and not only late.',
  },
  {
    name: 'The network lost the last packet of a message.',
    make: (random) => ({
      operations: [{ ...write(random), bytes: 4096 }],
      interventions: [{ host: 0, packet: 4, action: 'drop' }],
    }),
    proof: [
      { see: 'value', of: 'A', path: 'counters.localAckTimeoutErr', is: 1 },
      { see: 'value', of: 'B', path: 'counters.outOfSeqRequest', is: 0 },
      { see: 'value', of: 'B', path: 'counters.badIcrc', is: 0 },
      { see: 'value', of: 'B', path: 'counters.duplicateRequest', is: 3 },
      { see: 'packet', again: true, times: 4 },
    ],
    because:
      'Nothing came behind the gap, so there was no NAK, and A waited for its ACK timer. Until then B had sent no ACK that could have been lost; of the four packets that A sent again three were duplicates there.',
  },
  {
    name: 'The network lost an ACK.',
    make: () => ({ operations: [{ kind: 'send' }], interventions: [{ host: 1, packet: 1, action: 'drop' }] }),
    proof: [
      { see: 'value', of: 'A', path: 'counters.localAckTimeoutErr', is: 1 },
      { see: 'value', of: 'B', path: 'counters.duplicateRequest', is: 1 },
      { see: 'packet', from: 'B', kind: 'ack', times: 2 },
      { see: 'value', of: 'A', path: 'counters.ignoredResponse', is: 0 },
    ],
    because:
      'B had answered before A asked again: the second request was a duplicate there (duplicateRequest), and only one of two ACKs reached A.',
  },
  {
    name: 'A packet was damaged on its way.',
    make: (random) => ({
      operations: [write(random)],
      interventions: [{ host: 0, packet: 1 + random.below(3), action: 'corrupt' }],
    }),
    proof: [{ see: 'value', of: 'B', path: 'counters.badIcrc', is: 1 }],
    because: 'badIcrc of B: it arrived, its ICRC did not fit, and B dropped it silently. All else looks like a loss.',
  },
  {
    name: 'A packet was overtaken by later ones.',
    make: (random) => ({
      operations: [write(random)],
      interventions: [{ host: 0, packet: 1 + random.below(2), action: 'delay' }],
    }),
    proof: [
      { see: 'value', of: 'B', path: 'counters.outOfSeqRequest', is: 1 },
      { see: 'value', of: 'B', path: 'counters.duplicateRequest', atLeast: 1 },
      { see: 'value', of: 'A', path: 'counters.localAckTimeoutErr', is: 0 },
    ],
    because:
      'B sent a NAK as for a loss, but the original came after all: a duplicate at B that nobody had sent a second time for.',
  },
  {
    name: 'The ACK timeout is shorter than the round trip.',
    make: () => ({
      operations: [{ kind: 'send' }],
      link: { delayNs: 30_000 },
      qp: { timeout: 3, retryCnt: 7 },
    }),
    proof: [
      { see: 'value', of: 'A', path: 'counters.localAckTimeoutErr', atLeast: 1 },
      { see: 'value', of: 'A', path: 'counters.ignoredResponse', atLeast: 1 },
      { see: 'completion', host: 'A', status: 'success', times: 1 },
      { see: 'packet', state: 'lost', times: 0 },
    ],
    because:
      'Every request was answered, and every answer arrived: after A had sent again. 4.096 us * 2^3 is 33 us, and a round trip takes 60.',
  },
  {
    name: 'The receiver has posted no receive.',
    make: () => ({ operations: [{ kind: 'send', receive: false }], qp: { rnrRetry: 2 } }),
    proof: [{ see: 'completion', host: 'A', status: 'RNR retry counter exceeded', times: 1 }],
    because:
      'RNR NAKs, and at the end of the retries the status "RNR retry counter exceeded". The network did nothing.',
  },
  {
    name: 'The remote key is wrong.',
    make: (random) => ({ operations: [{ ...write(random), bytes: 64, mistake: 'rkey' }] }),
    proof: [
      { see: 'completion', host: 'A', status: 'remote access error', times: 1 },
      { see: 'packet', from: 'A', detail: '64 bytes' },
    ],
    because:
      'A NAK, "remote access error", to a WRITE that would fit: compare the key of its RETH with the one that the memory panel shows for the region.',
  },
  {
    name: 'The request reaches beyond the end of the region.',
    make: (random) => ({ operations: [{ ...write(random), bytes: 2048, mistake: 'range' }] }),
    proof: [
      { see: 'completion', host: 'A', status: 'remote access error', times: 1 },
      { see: 'packet', from: 'A', name: 'First' },
    ],
    because:
      'A NAK, "remote access error", and the key in the RETH is right: its address is that of the end of the region.',
  },
  {
    name: 'The path to the peer is dead.',
    make: (random) => ({ operations: [write(random)], link: { loss: 1 }, qp: { retryCnt: 1 + random.below(3) } }),
    proof: [
      { see: 'completion', host: 'A', status: 'transport retry counter exceeded', times: 1 },
      { see: 'value', of: 'B', path: 'counters.receivedFrames', is: 0 },
    ],
    because: 'B has received nothing at all, and A has given up: "transport retry counter exceeded".',
  },
  {
    name: 'The queue of the switch overflows.',
    make: () => ({
      operations: [{ kind: 'write', bytes: 16_384 }],
      link: { ratesBps: [0, 1e9], queueBytes: 8_192 },
      qp: { retryCnt: 7 },
    }),
    proof: [
      { see: 'packet', state: 'lost', atLeast: 3 },
      { see: 'value', of: 'B', path: 'counters.outOfSeqRequest', atLeast: 1 },
      { see: 'value', of: 'B', path: 'counters.badIcrc', is: 0 },
      { see: 'packet', from: 'A', again: true, atLeast: 3 },
      { see: 'packet', from: 'A', name: 'WRITE Middle', atLeast: 15 },
    ],
    because:
      'Packets were lost in a row, always at the end of a burst, and the first of every burst arrived: a queue that fills up, in front of a cable that is slower than that of A.',
  },
  {
    name: 'The network doubles packets.',
    make: (random) => ({
      operations: [write(random)],
      interventions: [{ host: 0, packet: 1 + random.below(4), action: 'duplicate' }],
    }),
    proof: [
      { see: 'value', of: 'B', path: 'counters.duplicateRequest', is: 1 },
      { see: 'packet', again: true, times: 0 },
      { see: 'value', of: 'A', path: 'counters.localAckTimeoutErr', is: 0 },
    ],
    because: 'B saw a PSN twice (duplicateRequest), and A had sent nothing again.',
  },
];

/** Of four packets or more. */
function write(random: Prng): { readonly kind: 'write'; readonly bytes: number } {
  return { kind: 'write', bytes: 4096 + 1024 * random.below(4) };
}
