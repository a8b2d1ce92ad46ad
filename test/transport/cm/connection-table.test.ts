import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Connection } from '../../../transport/cm/connection.ts';
import { ConnectionTable } from '../../../transport/cm/connection-table.ts';
import { PEER, STRANGER, seededRandom, US } from './harness.ts';

const connection = (id: number) =>
  new Connection({
    id,
    role: 'passive',
    service: 'rc',
    local: US,
    remote: PEER,
    transactionId: 1n,
    maxRetries: 1,
    responseTimeoutNs: 1,
    timewaitNs: 1,
  });

describe('the connection table', () => {
  it('knows the next deadline and what is due, whatever the order of changes', () => {
    const change = fc.record({
      slot: fc.nat(7),
      deadline: fc.oneof(fc.nat(50), fc.constant(Number.POSITIVE_INFINITY)),
    });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
        const table = new ConnectionTable();
        const all = Array.from({ length: 8 }, (_, i) => connection(i + 1));
        for (const one of all) table.add(one);
        for (const { slot, deadline } of changes) {
          const one = all[slot];
          if (one !== undefined) table.schedule(one, deadline);
          const naive = Math.min(...all.map((c) => c.deadline));
          expect(table.nextDeadline()).toBe(naive);
        }
        const due = new Set(table.due(25));
        for (const one of all) expect(due.has(one)).toBe(one.deadline <= 25);
      }),
    );
  });

  it('finds a connection by the peer until it is removed, and by its queue pair until it is unlinked', () => {
    const table = new ConnectionTable();
    const one = connection(1);
    Object.assign(one, { remoteCaGuid: 5n, remoteCommId: 6, remoteQpn: 7, localQpn: 8 });
    table.add(one);
    table.linkPeer(one);
    table.linkLocalQpn(one);
    expect([table.byPeerId(PEER, 5n, 6), table.byPeerQpn(PEER, 5n, 7), table.byLocalQpn(8)]).toEqual([one, one, one]);
    expect(table.byPeerId(PEER, 6n, 6)).toBeUndefined();
    expect([table.byPeerId(STRANGER, 5n, 6), table.byPeerQpn(STRANGER, 5n, 7)]).toEqual([undefined, undefined]);
    table.unlinkPeer(one);
    expect([table.byPeerId(PEER, 5n, 6), table.byPeerQpn(PEER, 5n, 7), table.byLocalQpn(8)]).toEqual([
      ...[one, undefined, undefined],
    ]);
    table.remove(one);
    expect([table.byPeerId(PEER, 5n, 6), table.byId(1), table.size]).toEqual([undefined, undefined, 0]);
  });

  it('does not give out 0 or a used id', () => {
    const table = new ConnectionTable();
    table.add(connection(3));
    const values = [0, 3, 3, 9];
    expect(table.unusedId({ u32: () => values.shift() ?? 1 })).toBe(9);
    expect(table.unusedId({ u32: () => 3 })).toBeUndefined();
    expect(table.unusedId(seededRandom(1))).toBeGreaterThan(0);
  });
});
