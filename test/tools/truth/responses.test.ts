/**
 * Goal: what is told of READ responses at the responder is held against what the network did to them. Method: runs with
 * known fates, and made-up events on made-up frames.
 */
import { describe, expect, it } from 'vitest';
import type { TransportEvent } from '../../../pcap/index.ts';
import {
  judgeResponses,
  measureResponses,
  newRow,
  playResponses,
  RESPONSE_KINDS,
  type ResponseKind,
} from '../../../tools/truth/responses.ts';

const kindOf = (name: string): ResponseKind => RESPONSE_KINDS.find((kind) => kind.name === name) as ResponseKind;
const measured = async (name: string, first = 1) => (await measureResponses({ first, count: 2 }, [kindOf(name)]))[0];

describe('where nothing but loss happens', () => {
  it('nearly all that is asked for is told to be lost, and nothing else', async () => {
    const row = await measured('2 % lost');
    expect(row?.lost).toBeGreaterThan(15);
    expect(row?.lostTold).toBeGreaterThan(0.9 * (row?.lost ?? 0));
    expect(row).toMatchObject({ lostFalsely: 0, late: 0, open: 0 });
  });
});

describe('where responses come late within what is on its way', () => {
  it('none is told to be lost, and some are told to be late', async () => {
    const row = await measured('1 % late by 3 us');
    expect(row?.lateRightly).toBeGreaterThan(3);
    expect(row).toMatchObject({ lost: 0, lostFalsely: 0, late: row?.lateRightly });
  });
});

describe('where requests are doubled as well', () => {
  it('no response is told to be lost: it cannot be told', async () => {
    const row = await measured('the same, 1 % doubled');
    expect(row?.lost).toBeGreaterThan(3);
    expect(row?.open).toBeGreaterThan(3);
    expect(row?.lostFalsely).toBe(0);
  });
});

describe('a judgement', () => {
  it('knows what was lost and asked for, and what a verdict is about', async () => {
    const frames = await playResponses(kindOf('1 % lost, 1 % late by 15 us'), 1);
    const none = newRow('none');
    judgeResponses(frames, [], none);
    expect(none.lost).toBeGreaterThan(2);
    const number = (was: string) => frames.findIndex((frame) => frame.was === was) + 1;
    const told = (kind: string, was: string) => {
      const event = { kind, sender: 1, requester: 0, reason: 'seen-then-implied-nak', refersTo: number(was) };
      const row = newRow('one');
      judgeResponses(frames, [event as TransportEvent], row);
      const { lostTold, lostFalsely, late, lateRightly, open } = row;
      return [lostTold, lostFalsely, late, lateRightly, open];
    };
    expect(told('loss', 'overtaken')).toEqual([0, 1, 0, 0, 0]);
    expect(told('loss', 'neither')).toEqual([0, 1, 0, 0, 0]);
    expect(told('reordering', 'overtaken')).toEqual([0, 0, 1, 1, 0]);
    expect(told('reordering', 'lost')).toEqual([0, 0, 1, 0, 0]);
    expect(told('missing', 'lost')).toEqual([0, 0, 0, 0, 1]);
  });
});
