/** Goal: a verdict on a request counts once, and what may have come late is remembered. Method: one made-up request. */
import { expect, it } from 'vitest';
import type { MissedRequest } from '../../../../pcap/analysis/tracker/missed-request.ts';
import type { Verdict } from '../../../../pcap/analysis/tracker/missed-requests.ts';
import { bookMissed } from '../../../../pcap/analysis/tracker/missed-verdicts.ts';
import type { PsnSpaceState } from '../../../../pcap/analysis/tracker/psn-space-state.ts';
import { RequesterFigures } from '../../../../pcap/analysis/tracker/requester-figures.ts';

const request = { psn: 5, frame: 1, nakFrame: 9, askedNs: 100, unseen: false, group: undefined };

function booked(verdict: Verdict, change: object = {}) {
  const report = new RequesterFigures();
  const events: string[] = [];
  const state = { report, requester: 0, emitAt: (kind: string) => events.push(kind) } as unknown as PsnSpaceState;
  bookMissed(state, { ...request, ...change } as unknown as MissedRequest, verdict);
  const { lostPackets, reorderedPackets, undecidedPackets, seemsOvertaken } = report;
  return [events, lostPackets, reorderedPackets, undecidedPackets, seemsOvertaken];
}

it('each verdict has its event and its count', () => {
  expect(booked('lost')).toEqual([['loss'], 1, 0, 0, false]);
  expect(booked('overtaken')).toEqual([['reordering'], 0, 1, 0, false]);
  expect(booked('unknown')).toEqual([['missing'], 0, 0, 1, false]);
});

it('a request that an answer to a duplicate may be about seems to have come late', () => {
  expect(booked('unknown', { group: {} })).toEqual([['missing'], 0, 0, 1, true]);
});
