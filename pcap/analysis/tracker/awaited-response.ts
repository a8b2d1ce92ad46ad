/**
 * Which READ response a requester waits for, as far as the capture shows it.
 *
 * Owns that. A requester takes responses in order only (ref:wire#8). It waits for what is missing before a later one,
 * or for what it requests again, and drops what comes behind; so it lacks that as well, and waits for the next one when
 * the first has come.
 */
import type { MutableFacts } from './mutable-facts.ts';
import type { PsnSpaceState } from './psn-space-state.ts';

/** The response at hand may be what the requester waits for, or show that it has to wait. */
export function followRequester(state: PsnSpaceState, { packet }: MutableFacts, psn: number): void {
  const { awaitedResponse, responseHoles } = state;
  state.responsesEnd = Math.max(state.responsesEnd, psn + 1);
  if (psn === awaitedResponse) state.awaitedResponse = psn + 1 < state.responsesEnd ? psn + 1 : Number.NaN;
  else if (Number.isNaN(awaitedResponse) && responseHoles.list.length > 0)
    state.awaitedResponse = responseHoles.openedBy(packet.number)?.from ?? Number.NaN;
}
