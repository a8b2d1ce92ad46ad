/**
 * The lifecycle rules of the link compliance suite: a link is started once, a close waits for a start, the end is
 * reported once, and never for a link whose start failed. Method: one end that the rule starts itself, and a peer that
 * is open.
 */
import { expect } from 'vitest';
import type { RoceError } from '../../../packets/errors.ts';
import type { Link } from '../../../src/ground/link.ts';
import { Collector } from '../../sim/support.ts';
import type { LinkPair } from './compliance.ts';
import type { End } from './compliance-end.ts';

export interface LifecycleScene {
  /** Not started. */
  readonly link: Link;
  /** The sink of `link`. */
  readonly end: End;
  /** Started. */
  readonly peer: End;
  readonly pair: LinkPair;
  /** Runs what starts `link` where it has to run. */
  start(started: () => Promise<void>): Promise<void>;
}

export interface LifecycleRule {
  readonly name: string;
  check(scene: LifecycleScene): Promise<void>;
}

export const LIFECYCLE_RULES: readonly LifecycleRule[] = [
  {
    name: 'closes before its start: nothing is reported, and it cannot be started any more',
    check: async ({ link, end, start }) => {
      await link.close();
      await start(() => expect(end.start()).rejects.toMatchObject({ code: 'ERR_ROCE_STATE' }));
      await link.close();
      expect(end.closedCalls).toBe(0);
      end.queue(3);
      expect(() => end.offer()).not.toThrow();
      expect(end.pending).toBe(0);
    },
  },
  {
    name: 'is started once: a second start is refused, and the first sink keeps the link',
    check: async ({ link, end, peer, pair, start }) => {
      const other = new Collector();
      await start(async () => {
        const first = end.start();
        await expect(link.start(other)).rejects.toMatchObject({ code: 'ERR_ROCE_STATE' });
        await first;
        await expect(link.start(other)).rejects.toMatchObject({ code: 'ERR_ROCE_STATE' });
      });
      await pair.ready();
      peer.queue(10);
      peer.offer();
      while (end.received < 10) await pair.pump();
      await link.close();
      expect([end.closedCalls, other.batches.length, other.closedCalls]).toEqual([1, 0, 0]);
    },
  },
  {
    name: 'waits for its start when it is closed meanwhile; the start is rejected unless it was in time',
    check: async ({ link, end, start }) => {
      let outcome = 'still starting';
      await start(async () => {
        const starting = end.start().then(
          () => 'started',
          (error: RoceError) => error.code,
        );
        void starting.then((result) => {
          outcome = result;
        });
        await link.close();
        await new Promise((resolve) => setImmediate(resolve));
        expect(outcome).toMatch(/^(started|ERR_ROCE_CLOSED)$/);
      });
      expect([end.closedCalls, end.closedError]).toEqual([outcome === 'started' ? 1 : 0, undefined]);
    },
  },
  {
    name: 'closes once, also from inside the report of its end; each close waits for that end',
    check: async ({ link, end, pair, start }) => {
      await start(() => end.start());
      await pair.ready();
      const nested: Promise<void>[] = [];
      end.onClosed = () => void nested.push(link.close());
      const first = link.close();
      await link.close();
      expect(end.closedCalls).toBe(1);
      await Promise.all([first, ...nested, link.close()]);
      expect([end.closedCalls, end.closedError, nested.length]).toEqual([1, undefined, 1]);
    },
  },
];

/** @param link that cannot start */
export async function checkFailedStart(link: Link): Promise<void> {
  const sink = new Collector();
  await expect(link.start(sink)).rejects.toMatchObject({
    code: 'ERR_ROCE_LINK_UNAVAILABLE',
    message: expect.stringContaining(link.name),
  });
  await expect(link.start(sink)).rejects.toMatchObject({ code: 'ERR_ROCE_STATE' });
  await link.close();
  expect(sink.closedCalls).toBe(0);
}
