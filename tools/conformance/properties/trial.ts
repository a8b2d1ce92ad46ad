/**
 * One try of a property: what was sent and seen, in order, and what came of it. Data only, so that it can be printed
 * and played again.
 */

import { describePacket, type Packet } from 'rocev2/packets/kit';
import type { ModelDifference } from '../model/difference.ts';

/** A thing that happened, in the order in which the tester saw it. */
export type TrialEvent =
  | { readonly at: 'tx' | 'rx'; readonly packet: Packet }
  /** Something else that the tester did: receives posted, work posted, time passed. */
  | { readonly at: 'do'; readonly what: string };

export interface Trial {
  readonly happenings: readonly TrialEvent[];
  /** The device did what the model does not allow. */
  readonly difference?: ModelDifference;
  /** Nothing is proven, and why. */
  readonly inconclusive?: string;
  /**
   * It held up to a known deviation of the device, after which what it does cannot be predicted: the rest was not
   * judged.
   */
  readonly astray?: boolean;
  /** What the connection was, so that the packets can be sent over another one like it. */
  readonly connection?: TrialConnection;
}

export interface TrialConnection {
  /** As a ladder's `connect` has it. */
  readonly options: Readonly<Record<string, number>>;
  readonly region: { readonly va: bigint; readonly rkey: number; readonly length: number };
}

/** A ladder: `tx ...`, `rx ...`, and `# ...` for what else was done. */
export function ladder({ happenings }: Pick<Trial, 'happenings'>): string[] {
  return happenings.map((each) => (each.at === 'do' ? `# ${each.what}` : `${each.at} ${describePacket(each.packet)}`));
}

/** What was sent. */
export const packetsOf = ({ happenings }: Trial): Packet[] =>
  happenings.flatMap((each) => (each.at === 'tx' ? [each.packet] : []));
