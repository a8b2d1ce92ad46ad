/**
 * Goal: verdicts on real traffic are as good as docs/analyze.md says. Method: one run of each kind between two guests,
 * a minute; all 60, whose figures the page has, are `npm run docs:truth -- --guests`, five minutes or more.
 */
import { beforeAll, expect, it } from 'vitest';
import type { GuestRow } from '../../../tools/truth/guests/judge.ts';
import { type GuestTruth, measureGuests } from '../../../tools/truth/guests/measure.ts';
import { GUEST_KINDS, plannedRuns } from '../../../tools/truth/guests/plan.ts';
import { addShare, noShare, precisionOf, recallOf, type Share } from '../../../tools/truth/guests/share.ts';
import { guestText, readGuestTruths, sumGuests } from '../../../tools/truth/guests/table.ts';
import { total } from '../../../tools/truth/table.ts';
import { describeWith } from '../../support/need.ts';

const KERNEL = '6.12';
const SEED = 301;
/** Fifty verdicts or so, and every run is another one. */
const LUCK = 0.2;

describeWith('lab', `rdma_rxe of Linux ${KERNEL}`, () => {
  const plan = plannedRuns(SEED, 1);
  let truth: GuestTruth;
  let sum: ReturnType<typeof sumGuests>;

  beforeAll(async () => {
    truth = await measureGuests(KERNEL, plan, console.log);
    sum = sumGuests([truth]);
    console.log(`${plan.length} of the 60 runs, seeds ${SEED} and later\n\n${guestText([truth])}`);
  });

  it('runs one of each kind', () => {
    expect(truth.runs).toBe(GUEST_KINDS.length);
    expect(truth.requests).toHaveLength(2 * GUEST_KINDS.length);
  });

  it('every frame that was dropped, doubled, damaged, held or marked is found, and no other', () => {
    for (const { action, vantage, share } of truth.frames) {
      expect(share.real, `${action}, ${vantage}`).toBeGreaterThan(3);
      expect([action, vantage, share.found, share.falsely]).toEqual([action, vantage, share.real, 0]);
    }
  });

  it('verdicts on requests are as good as those of the 60 runs, as far as ten runs can show', () => {
    const rows = [sum.requests, sumGuests(readGuestTruths()).requests];
    const [now, kept] = rows.map(verdictsOf) as [Verdicts, Verdicts];
    // The requester's place often cannot tell, and how often depends on the run: its recall is printed only.
    const [nowThere, keptThere] = rows.map((all) => verdictsOf(all.filter(isResponder))) as [Verdicts, Verdicts];
    for (const told of ['lost', 'overtaken'] as const) {
      expect(now[told].real, told).toBeGreaterThan(10);
      expect(precisionOf(now[told]) ?? 0, told).toBeGreaterThanOrEqual((precisionOf(kept[told]) ?? 0) - LUCK);
      expect(recallOf(nowThere[told]) ?? 0, told).toBeGreaterThanOrEqual((recallOf(keptThere[told]) ?? 0) - LUCK);
    }
  });

  it('no capture has an error: no connection ends', () => {
    for (const { kind, vantage, errors } of truth.requests)
      expect([kind, vantage, errors]).toEqual([kind, vantage, []]);
  });
});

type Verdicts = Record<'lost' | 'overtaken', Share>;

const isResponder = ({ vantage }: GuestRow): boolean => vantage === 'responder';

/** Of all kinds, and all places in `rows`. */
function verdictsOf(rows: readonly GuestRow[]): Verdicts {
  const of = (told: 'lost' | 'overtaken'): Share =>
    rows
      .map(({ judgement: { lost, overtaken, discarded, sound, [told]: right } }) => {
        const all = [lost, overtaken, discarded, sound].reduce((count, each) => count + each[told], 0);
        return { real: total(right), found: right[told], falsely: all - right[told] };
      })
      .reduce(addShare, noShare());
  return { lost: of('lost'), overtaken: of('overtaken') };
}
