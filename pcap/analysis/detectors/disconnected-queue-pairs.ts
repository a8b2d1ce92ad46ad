/**
 * Queue pairs of connections that were closed by DREQ: they answer no requests any more, and that is no failure.
 *
 * Owns their recognition: by address and number, and by virtual network as far as it is known. An end that has sent
 * nothing has shown none.
 */
import type { ConversationReport, EndReport } from '../types.ts';
import type { FrameList } from './frame-list.ts';

/** Requests that no response came to. */
interface Silence {
  readonly conversation: ConversationReport;
  readonly requester: 0 | 1;
  /** The first of them, and those that were sent again. */
  readonly frames: Pick<FrameList, 'frames'>;
  readonly firstNs: number;
}

export class DisconnectedQueuePairs {
  readonly #gone = new Map<string, ConversationReport[]>();

  constructor(conversations: readonly ConversationReport[]) {
    for (const conversation of conversations) {
      if ((conversation.cm?.dreqFrame ?? 0) === 0) continue;
      for (const end of conversation.ends) {
        const known = this.#gone.get(keyOf(end));
        if (known === undefined) this.#gone.set(keyOf(end), [conversation]);
        else known.push(conversation);
      }
    }
  }

  /** Whether the silence began after the queue pair of the responder had been closed, no longer than `withinNs`. */
  explain({ conversation, requester, frames, firstNs }: Silence, withinNs: number): boolean {
    const responder = conversation.ends[requester === 0 ? 1 : 0];
    const askedAgain = frames.frames[1] ?? 0;
    return (this.#gone.get(keyOf(responder)) ?? []).some(
      (ended) =>
        askedAgain >= (ended.cm?.dreqFrame ?? 0) &&
        // Numbers of queue pairs are used again, but not within seconds.
        firstNs - ended.endNs <= withinNs &&
        mayShareNetworks(ended, conversation, keyOf(responder)),
    );
  }
}

/** @param key of the end that they have in common */
function mayShareNetworks(one: ConversationReport, other: ConversationReport, key: string): boolean {
  const isSwapped = (keyOf(one.ends[0]) === key) !== (keyOf(other.ends[0]) === key);
  return one.ends.every((end, side) => mayShareNetwork(end, other.ends[isSwapped ? 1 - side : side] ?? end));
}

/** An end that has sent nothing may be in any. */
export function mayShareNetwork(one: EndReport, other: EndReport): boolean {
  return one.packets === 0 || other.packets === 0 || one.network === other.network;
}

function keyOf({ address, qpn }: EndReport): string {
  return `${address} ${qpn}`;
}
