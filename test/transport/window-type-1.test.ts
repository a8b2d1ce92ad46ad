/**
 * Memory windows of type 1. Goal: one is bound again without an invalidation, ended by binding no bytes, open to every
 * queue pair of its domain, and never invalidated. Method: BIND MW as work requests, and what the keys then open.
 */
import { describe, expect, it } from 'vitest';
import { Access, type MemoryRegion, MemoryWindow, ProtectionDomain } from '../../transport/memory.ts';
import { type SendWr, WrOpcode } from '../../transport/work.ts';
import { ALL_ACCESS, Peer } from './support/peer.ts';
import { SUBJECT_QPN } from './support/wire.ts';

const BINDABLE = ALL_ACCESS | Access.MwBind;
const window = (peer: Peer, pd = peer.pd) =>
  peer.keys.allocateWindow(pd, (domain, key) => new MemoryWindow(domain, key, 1));
const nextKey = (key: number) => ((key & ~0xff) | ((key + 1) & 0xff)) >>> 0;

function bind(wrId: number, mw: MemoryWindow, mr: MemoryRegion, more: object = {}): SendWr {
  const terms = { mr, addr: mr.iova, length: 64, access: Access.RemoteWrite, ...more };
  return { wrId, opcode: WrOpcode.BindMw, mw, rkey: nextKey(mw.rkey), bind: terms };
}

function done(peer: Peer, wr: SendWr): string[] {
  peer.post(wr);
  peer.silence();
  return peer.completions();
}

describe('a window of type 1', () => {
  it('is bound again, to another region and under another key', () => {
    const peer = new Peer();
    const [one, two] = [peer.region({ access: BINDABLE }), peer.region({ access: BINDABLE })];
    const mw = window(peer);
    expect(done(peer, bind(1, mw, one))).toEqual(['send 1 Success BindMw']);
    const { rkey: first, grant } = mw;
    expect(done(peer, bind(2, mw, two))).toEqual(['send 2 Success BindMw']);
    expect([one.windows, two.windows, mw.region, grant?.valid]).toEqual([0, 1, two, false]);
    expect(mw.rkey).toBe(nextKey(first));
    expect(peer.keys.find(first, peer.pd, 0, 1)).toBeUndefined();
    peer.keys.deregister(one);
  });

  it('opens for every queue pair of its domain, and for no other domain', () => {
    const peer = new Peer();
    const mw = window(peer);
    done(peer, bind(1, mw, peer.region({ access: BINDABLE })));
    expect(peer.keys.find(mw.rkey, peer.pd, Access.RemoteWrite, 77)).toBe(mw.grant);
    expect(peer.keys.find(mw.rkey, new ProtectionDomain(2), Access.RemoteWrite, 77)).toBeUndefined();
    expect(peer.keys.find(mw.rkey, peer.pd, Access.RemoteRead, 77)).toBeUndefined();
  });

  it('is ended by no bytes, of whatever region, and stays when a queue pair goes', () => {
    const peer = new Peer();
    const mr = peer.region({ access: BINDABLE });
    const mw = window(peer);
    done(peer, bind(1, mw, mr));
    peer.keys.releaseQueuePair(SUBJECT_QPN);
    expect(mr.windows).toBe(1);
    const key = mw.rkey;
    expect(done(peer, bind(2, mw, peer.region(), { length: 0, access: 0 }))).toEqual(['send 2 Success BindMw']);
    expect([mw.grant, mw.rkey, mr.windows, peer.keys.grantCount]).toEqual([undefined, nextKey(key), 0, 2]);
    // Twice is as good as once.
    expect(done(peer, bind(3, mw, mr, { length: 0 }))).toEqual(['send 3 Success BindMw']);
    peer.keys.deallocateWindow(mw);
  });

  it('cannot be invalidated', () => {
    const peer = new Peer();
    const mw = window(peer);
    done(peer, bind(1, mw, peer.region({ access: BINDABLE })));
    expect(peer.keys.mayInvalidate(mw.rkey, { qpn: SUBJECT_QPN, pd: peer.pd })).toBe(false);
    expect(done(peer, { wrId: 2, opcode: WrOpcode.LocalInv, invalidateRkey: mw.rkey })).toEqual(['send 2 LocQpOpErr']);
    expect(mw.grant?.valid).toBe(true);
  });

  it.each<[string, (peer: Peer) => SendWr]>([
    [
      'addresses that begin at 0',
      (peer) => bind(1, window(peer), peer.region({ access: BINDABLE }), { access: Access.ZeroBased }),
    ],
    ['a region without bind access', (peer) => bind(1, window(peer), peer.region())],
    [
      'a window of another domain',
      (peer) => bind(1, window(peer, new ProtectionDomain(2)), peer.region({ access: BINDABLE })),
    ],
    [
      'no bytes of a window of another domain',
      (peer) => bind(1, window(peer, new ProtectionDomain(2)), peer.region({ access: BINDABLE }), { length: 0 }),
    ],
  ])('is not bound with %s', (_, make) => {
    const peer = new Peer();
    const wr = make(peer);
    expect(done(peer, wr)).toEqual(['send 1 MwBindErr']);
    expect(wr.mw?.grant).toBeUndefined();
  });

  it('keeps what it has when a bind fails', () => {
    const peer = new Peer();
    const mr = peer.region({ access: BINDABLE });
    const mw = window(peer);
    done(peer, bind(1, mw, mr));
    const { grant, rkey } = mw;
    expect(done(peer, bind(2, mw, peer.region()))).toEqual(['send 2 MwBindErr']);
    expect([mw.grant, mw.rkey, grant?.valid, mr.windows]).toEqual([grant, rkey, true, 1]);
  });
});
