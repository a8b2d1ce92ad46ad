/**
 * Goal: events that wait in a file come back as they were, in their order, and leave nothing behind. Method: random
 * events in blocks of random length.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import {
  TRANSPORT_EVENT_KINDS,
  TRANSPORT_EVENT_REASONS,
  type TransportEvent,
} from '../../../pcap/analysis/transport-event.ts';
import { EventSpill } from '../../../tools/export/event-spill.ts';

const scratch = mkdtempSync(join(tmpdir(), 'roce-spill-'));
afterAll(() => rmSync(scratch, { recursive: true }));

const number = fc.integer({ min: -1, max: Number.MAX_SAFE_INTEGER });
const end = fc.constantFrom(0 as const, 1 as const);
const event: fc.Arbitrary<TransportEvent> = fc.record({
  kind: fc.constantFrom(...TRANSPORT_EVENT_KINDS),
  timeNs: number,
  frame: number,
  refersTo: number,
  conversation: number,
  requester: end,
  sender: end,
  psn: number,
  count: number,
  durationNs: number,
});
const detailed: fc.Arbitrary<TransportEvent> = fc
  .tuple(event, fc.constantFrom(...TRANSPORT_EVENT_REASONS), number)
  .map(([plain, reason, syndrome]) => ({ ...plain, reason, syndrome, named: true }));
const events = fc.array(fc.oneof(event, detailed), { maxLength: 40 });

it('gives back any events in blocks of any length, and takes its file away', () => {
  fc.assert(
    fc.property(events, fc.integer({ min: 1, max: 50 }), (all, blockEvents) => {
      const spill = new EventSpill(join(scratch, 'capture.events'), blockEvents);
      for (const each of all) spill.add(each);
      expect([...spill.all()]).toEqual(all);
      expect(readdirSync(scratch)).toEqual(['.capture.events.partial']);
      spill.discard();
      expect(readdirSync(scratch)).toEqual([]);
    }),
    { numRuns: 50 },
  );
});
