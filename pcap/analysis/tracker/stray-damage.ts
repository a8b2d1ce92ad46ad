/**
 * Packets with a wrong ICRC that belong to no conversation that is known: their queue pair number is what is damaged,
 * or they begin a conversation.
 *
 * Owns how they are told to belong to one all the same: the packet behind comes from the same host and has the next
 * PSN, and its queue pair lacks the one between. Bounded: the last few.
 */
import type { IpAddress } from '../../../packets/address.ts';
import {
  type Frame,
  frameDestination,
  frameDestinationIs,
  frameSource,
  frameSourceIs,
} from '../../../packets/frame.ts';
import { psnAdd } from '../../../packets/psn.ts';
import type { MutableFacts } from './mutable-facts.ts';
import type { PsnSpace } from './psn-space.ts';

interface Stray {
  readonly vantage: number;
  readonly behind: number;
  readonly source: IpAddress;
  readonly destination: IpAddress;
}

export class StrayDamage {
  readonly #strays: Stray[] = [];

  add(frame: Frame, vantage: number): void {
    const [source, destination] = [frameSource(frame), frameDestination(frame)];
    this.#strays.push({ vantage, behind: psnAdd(frame.psn, 1), source, destination });
    if (this.#strays.length > MOST_STRAYS) this.#strays.shift();
  }

  /** Puts the one that came right before the packet at hand to its space, if that lacks it. */
  settle(facts: MutableFacts, vantage: number, space: Pick<PsnSpace, 'damagedBefore'>): void {
    const { frame } = facts.dissection;
    for (let at = 0; at < this.#strays.length; at++) {
      const stray = this.#strays[at] as Stray;
      if (stray.behind !== frame.psn || stray.vantage !== vantage) continue;
      if (!frameSourceIs(frame, stray.source) || !frameDestinationIs(frame, stray.destination)) continue;
      if (space.damagedBefore(facts)) this.#strays.splice(at, 1);
      return;
    }
  }
}

const MOST_STRAYS = 16;
