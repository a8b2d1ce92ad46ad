/**
 * Goal: requests that no application has taken share their places fairly among listeners and sources (SEC-14). Method:
 * arbitrary calls against a model that counts anew each time; then a manager that is flooded.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../packets/address.ts';
import { RequestShares } from '../../../transport/cm/request-shares.ts';
import { ACCEPT, reqBody, Script, SERVICE, US } from './harness.ts';

interface Entry {
  readonly listener: string;
  readonly source: string;
  readonly id: number;
}

describe('shares', () => {
  it('give up the oldest request of the source that has most, as a model says', () => {
    const step = fc.record({ listener: fc.constantFrom('x', 'y'), source: fc.nat(3), remove: fc.nat(9) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const shares = new RequestShares<string, Entry>();
        const model: Entry[] = [];
        const ofSource = (e: Entry) => model.filter((m) => m.listener === e.listener && m.source === e.source).length;
        for (const [id, { listener, source, remove }] of steps.entries()) {
          const entry = { listener, source: `${source}`, id };
          const here = model.filter((m) => m.listener === listener);
          const most = Math.max(0, ...here.map(ofSource));
          const victim = shares.victimAt(listener, entry.source);
          expect(shares.countOf(listener, entry.source)).toBe(ofSource(entry));
          if (ofSource(entry) >= most) expect(victim).toBeUndefined();
          else {
            expect(ofSource(victim as Entry)).toBe(most);
            expect(here.find((m) => m.source === victim?.source)).toBe(victim);
          }
          if (remove > 5 && model.length > 0) {
            const [gone] = model.splice(remove % model.length, 1);
            if (gone !== undefined) shares.remove(gone.listener, gone);
          }
          model.push(entry);
          shares.add(listener, entry.source, entry);
          expect(model.every((m) => shares.has(m))).toBe(true);
        }
        for (const entry of model) shares.remove(entry.listener, entry);
        expect([shares.victimAt('x', 'new'), shares.victim('y', 'new')]).toEqual([undefined, undefined]);
      }),
    );
  });
});

const host = (n: number) => IpAddress.parse(`10.77.1.${n + 1}`);

/** A REQ from this address, for this service; the number makes it a new one. */
function receive(s: Script, source: IpAddress, serviceId: bigint, n: number): string {
  const { primaryPath } = reqBody();
  const changes = { serviceId, localCommId: 1000 + n, localQpn: 1000 + n, localCaGuid: BigInt(1000 + n) };
  const body = reqBody({ ...changes, primaryPath: { ...primaryPath, localGid: source, remoteGid: US } });
  return s.receive({ kind: 'REQ', body }, undefined, { source });
}

describe('a manager that is flooded', () => {
  it('gives a place to every other source, and to every other listener', () => {
    const s = new Script({ maxPending: 16 });
    s.cm.listen(SERVICE, 1000);
    s.cm.listen(SERVICE + 1n, 1000);
    for (let n = 0; n < 100; n++) receive(s, host(99), SERVICE, n);
    for (let n = 100; n < 108; n++) expect(receive(s, host(n), SERVICE, n)).toBe('Ok');
    for (let n = 108; n < 116; n++) expect(receive(s, host(n), SERVICE + 1n, n)).toBe('Ok');
    expect(s.cm.pendingCount).toBe(16);
    expect(s.cm.counters()).toMatchObject({ Ok: 32, TableFull: 84, displaced: 16 });
    s.events();
    // The peer of a request that gave way repeats it, and is in again.
    expect(receive(s, host(100), SERVICE, 100)).toMatch(/Ok|Duplicate/);
  });

  it('takes no more of one source than its share', () => {
    const s = new Script({ maxPendingPerSource: 3 });
    s.cm.listen(SERVICE, 1000);
    for (let n = 0; n < 5; n++) expect(receive(s, host(1), SERVICE, n)).toBe(n < 3 ? 'Ok' : 'SourceFull');
  });

  it('never drops what the application has taken, which fills the backlog of its listener alone', () => {
    const s = new Script({ maxPending: 4 });
    s.cm.listen(SERVICE, 4);
    s.cm.listen(SERVICE + 1n, 4);
    for (let n = 0; n < 4; n++) receive(s, host(n), SERVICE, n);
    const taken = s.events().map(({ id }) => id);
    for (const id of taken) s.cm.take(id);
    expect(receive(s, host(10), SERVICE, 10)).toBe('BacklogFull');
    for (let n = 20; n < 24; n++) expect(receive(s, host(n), SERVICE + 1n, n)).toBe('Ok');
    for (const id of taken) s.cm.accept(s.now, id, { ...ACCEPT, qpn: id & 0xff_ff });
    expect(s.sentKinds()).toEqual(['REP', 'REP', 'REP', 'REP']);
  });

  it('makes no more peers wait by MRA than half of those that may wait', () => {
    const s = new Script();
    s.cm.listen(SERVICE, 8);
    for (let n = 0; n < 8; n++) receive(s, host(n), SERVICE, n);
    for (const { id } of s.events()) s.cm.sendMra(s.now, id, 24, true);
    for (let n = 0; n < 8; n++) expect(receive(s, host(n), SERVICE, n)).toBe('Duplicate');
    expect(s.sentKinds()).toEqual(['MRA', 'MRA', 'MRA', 'MRA']);
    // The others give way, and those do not.
    for (let n = 20; n < 40; n++) expect(receive(s, host(n), SERVICE, n)).toBe('Ok');
    for (let n = 0; n < 4; n++) expect(receive(s, host(n), SERVICE, n)).toBe('Duplicate');
    expect(s.cm.size).toBe(8);
  });

  it.each<[way: string, leave: (s: Script, id: number) => void]>([
    ['accepted', (s, id) => s.cm.accept(s.now, id, { ...ACCEPT, qpn: id & 0xff_ff })],
    ['rejected', (s, id) => s.cm.reject(s.now, id)],
    ['taken', (s, id) => s.cm.take(id)],
    ['destroyed', (s, id) => s.cm.destroy(s.now, id)],
    ['given up', (s) => s.advance(s.cm.pollTimeout() - s.now)],
  ])('can make another peer wait by MRA once a request was %s', (_, leave) => {
    const s = new Script();
    // Two of four can be made to wait.
    s.cm.listen(SERVICE, 4);
    for (let n = 0; n < 3; n++) {
      receive(s, host(n), SERVICE, n);
      const { id } = s.event('connect-request');
      s.cm.sendMra(s.now, id, 24, true);
      receive(s, host(n), SERVICE, n);
      expect(s.sentKinds()).toEqual(['MRA']);
      leave(s, id);
      s.sent();
      s.events();
    }
  });

  it('remembers no more refusals than maxPending', () => {
    const s = new Script({ maxPending: 4 });
    s.cm.listen(SERVICE, 8);
    for (let n = 0; n < 50; n++) {
      receive(s, host(n), SERVICE, n);
      const { id } = s.event('connect-request');
      s.cm.take(id);
      s.cm.reject(s.now, id);
      expect(s.cm.size).toBeLessThanOrEqual(4);
    }
  });
});
