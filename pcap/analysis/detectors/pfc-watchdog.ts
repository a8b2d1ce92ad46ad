/**
 * Symptom: a class was paused for so long that the PFC watchdog of a switch flushed its queue.
 *
 * Owns the finding, an error for each port and class; `stuck-queues.ts` owns the evidence. It takes the place of
 * `pfc-storm` for that port and class: pauses without losses are a storm, and losses without a long pause have other
 * causes. Rules: ref:dcqcn#4 (PFC watchdog).
 */
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { PacketFacts } from '../facts.ts';
import { PacketKind } from '../packet-kind.ts';
import type { TransportEvent } from '../types.ts';
import { mergedFrames } from './frame-list.ts';
import { type FlushedQueue, StuckQueues } from './stuck-queues.ts';
import { counted, duration } from './words.ts';

export const PFC_WATCHDOG: Symptom = {
  id: 'pfc-watchdog',
  row: 0,
  title: 'PFC watchdog',
  complaint:
    'A lossless class loses packets in bursts, now and then; a host hangs for some hundred milliseconds, and others with it.',
  about:
    'A port that pauses without end stops the queue of its neighbour, and in time the whole fabric. Switches therefore have a PFC watchdog: when a queue ' +
    'stood still for a few hundred milliseconds they drop what is in it and what comes for it, until the pauses end. The losses are meant to be; their cause is the ' +
    'port that pauses. Pauses never pass a switch, and most NICs do not hand them to the host: only a capture on that link has them, by a mirror that takes in ' +
    'MAC control frames, or from a NIC that passes them up.',
  advice: [
    'Go to the port that pauses: a host that does not take its packets (hung driver or firmware, PCIe errors, a stopped virtual machine), or a switch behind which one is.',
    'Read the counters of the watchdog at the switch: they name port and queue.',
    'Do not raise its detection time: without the watchdog the pauses spread.',
  ],
  commands: [
    'show pfcwd stats',
    'show pfc counters',
    'ethtool -S DEV | grep -i pause',
    'dmesg | grep -iE "health|timeout|AER"',
  ],
  explains: ['sequence-error', 'implied-nak', 'retry-exceeded', 'no-reply'],
  make: () => new PfcWatchdog(),
};

class PfcWatchdog implements Detector {
  readonly interest = PacketKind.Other;
  readonly #queues = new StuckQueues();

  packet(facts: PacketFacts): void {
    this.#queues.packet(facts);
  }

  event(event: TransportEvent): void {
    this.#queues.event(event);
  }

  finish(context: DetectorContext): void {
    for (const queue of this.#queues.flushed(context).slice(0, MOST_FINDINGS)) report(context, queue);
  }
}

function report(context: DetectorContext, queue: FlushedQueue): void {
  const { mac, priority, startNs, endNs, pauses, frames, lost, firstNs, conversations } = queue;
  const host = context.conversations.flatMap(({ ends }) => ends).find((end) => end.mac === mac)?.address;
  const when = firstNs < endNs ? 'while it still lasted' : `${duration(firstNs - endNs)} after its end`;
  context.report({
    severity: 'error',
    text:
      `${host === undefined ? `Port ${mac}` : `Host ${host} (${mac})`} paused class ${priority} for ${duration(endNs - startNs)} without a break, ` +
      `and then ${counted(lost, 'packet')} of this class ${host === undefined ? 'did not arrive' : 'to it did not arrive'} ` +
      `(${counted(conversations.length, 'connection')}, first seen ${when}), and hardly any of other classes: a PFC watchdog flushed the queue that stood still.`,
    frames: mergedFrames([pauses.frames.slice(0, FRAMES_OF_PAUSES), frames]),
    frameCount: pauses.count + frames.length,
    conversations: conversations.map(({ id }) => id),
    evidence: {
      port: mac,
      host: host ?? '',
      priority,
      pauses: pauses.count,
      pausedNs: Math.round(endNs - startNs),
      lostPackets: lost,
      connections: conversations.length,
      firstLossNs: Math.round(firstNs - endNs),
    },
  });
}

const FRAMES_OF_PAUSES = 4;
const MOST_FINDINGS = 8;
