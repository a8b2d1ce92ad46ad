/** What all views share: what they are given, and when a key is not theirs. */
import type { News } from '../engine/protocol.ts';
import type { Client } from './client.ts';
import type { Place } from './location.ts';

/** What every view gets. */
export interface ViewProps {
  readonly client: Client;
  readonly news: News;
  readonly place: Place;
  readonly go: (change: Partial<Place>) => void;
}

/** Whether what is typed there is text. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input:not([type="checkbox"]), textarea, select');
}
