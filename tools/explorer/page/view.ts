/** What all views share: what they are given, and when a key is not theirs. */
import type { News } from '../engine/protocol.ts';
import type { Client } from './client.ts';
import type { PageLocation } from './location.ts';

/** What every view gets. */
export interface ViewProps {
  readonly client: Client;
  readonly news: News;
  readonly place: PageLocation;
  readonly go: (change: Partial<PageLocation>) => void;
}

/** Whether what is typed there is text. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.matches('input:not([type="checkbox"], [type="radio"]), textarea, select')
  );
}
