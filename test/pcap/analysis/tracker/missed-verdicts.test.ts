/** Goal: a verdict on a request counts once, and what may have come late is remembered. Method: one made-up request. */
import { expect, it } from 'vitest';
import { IpIdOrder } from '../../../../pcap/analysis/tracker/id-order.ts';
import type { MissedRequest } from '../../../../pcap/analysis/tracker/missed-request.ts';
import type { MissedRequests } from '../../../../pcap/analysis/tracker/missed-requests.ts';
import { bookMissed } from '../../../../pcap/analysis/tracker/missed-verdicts.ts';
import type { MutableFacts } from '../../../../pcap/analysis/tracker/mutable-facts.ts';
import { type PsnSpaceOwner, PsnSpaceState } from '../../../../pcap/analysis/tracker/psn-space-state.ts';
import { RequesterFigures } from '../../../../pcap/analysis/tracker/requester-figures.ts';
import { ResponseTracker } from '../../../../pcap/analysis/tracker/response-tracker.ts';
import type { Verdict } from '../../../../pcap/analysis/tracker/verdict-rules.ts';

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

it('a receiver answers until the capture ends, or until its last answer where the connection is closed', () => {
  const endOf = (ended: boolean): number => {
    const side = { ids: new IpIdOrder(), requester: new RequesterFigures(), mtu: 0 };
    const conversation: PsnSpaceOwner = { id: 1, service: 'RC', pathMtu: 0, ended, held: undefined, end: () => side };
    const shared = { sink: { emit: () => {} }, budget: { entries: 0 }, shapeBudget: { entries: 0 } };
    const state = new PsnSpaceState(conversation, 0, shared, 0, false, true);
    let endNs = -1;
    const finish = (ns: number): void => {
      endNs = ns;
    };
    state.missed = { finish } as unknown as MissedRequests;
    state.lastAnswerNs = 5;
    new ResponseTracker(state).finish({ timeNs: 9 } as MutableFacts);
    return endNs;
  };
  expect([endOf(false), endOf(true)]).toEqual([9, 5]);
});
