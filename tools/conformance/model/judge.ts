/** Whole exchanges judged at once: what was sent and received, in order; the first difference, or none. */
import type { Packet } from 'rocev2/packets/kit';
import type { ModelDifference } from './difference.ts';
import { ResponderJudge } from './responder-judge.ts';
import type { Delivered, ResponderSetup } from './responder-state.ts';

export type { ModelDifference } from './difference.ts';

/** One thing of an exchange with a responder. */
export type ResponderEvent =
  /** Sent to the device. */
  | { readonly tx: Packet }
  /** Came from it. */
  | { readonly rx: Packet }
  /** Receives were posted. */
  | { readonly posted: number }
  /** The device has had all the time it needs: what must come has come. */
  | 'settled';

export interface ResponderExchange {
  readonly setup: ResponderSetup;
  readonly memory: Uint8Array;
  readonly receives: number;
  readonly events: readonly ResponderEvent[];
  /** What the region holds in the end; absent: not observed. */
  readonly memoryAfter?: Uint8Array;
  /** What was put into receives; absent: not observed. */
  readonly delivered?: readonly Delivered[];
}

/** The first difference between the device and the model. The end of the events is `settled`. */
export function judgeResponder(exchange: ResponderExchange): ModelDifference | undefined {
  const { setup, memory, receives, events, memoryAfter, delivered } = exchange;
  const judge = new ResponderJudge(setup, memory, receives);
  for (const event of [...events, 'settled'] as const) {
    const difference = apply(judge, event);
    if (difference !== undefined) return difference;
  }
  const received = delivered === undefined ? undefined : judge.delivered(delivered);
  return received ?? (memoryAfter === undefined ? undefined : judge.memory(memoryAfter));
}

function apply(judge: ResponderJudge, event: ResponderEvent): ModelDifference | undefined {
  if (event === 'settled') return judge.settled();
  if ('rx' in event) return judge.received(event.rx);
  if ('tx' in event) judge.sent(event.tx);
  else judge.posted(event.posted);
  return undefined;
}
