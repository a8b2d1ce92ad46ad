/**
 * Goal: what the analyzer finds between the two interfaces of a bump's capture is, event by event, what the bump says that it has done.
 * Method: bump-run.ts, by seeds; the long test has 1,000 of them.
 */
import { describe, expect, it } from 'vitest';
import { accountAndFindings } from './bump-run.ts';

describe('what a bump did, found in its capture', () => {
  it.each(Array.from({ length: 2 }, (_, i) => i))(
    'equals its account in each of the 25 runs of batch %i',
    async (batch) => {
      let events = 0;
      for (let seed = 25 * batch + 1; seed <= 25 * (batch + 1); seed++) {
        const { account, findings } = await accountAndFindings(seed);
        expect({ seed, findings }).toEqual({ seed, findings: account });
        events += account.length;
      }
      expect(events).toBeGreaterThan(100);
    },
  );
});
