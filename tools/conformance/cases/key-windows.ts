/** Cases of area KEY on memory windows of type 2 and on keys that a peer invalidates. All take host control. */
import { Op } from 'rocev2/packets';
import { type Packet, pattern, readRequest, sendFirst, sendLastInv, sendOnlyInv, writeOnly } from 'rocev2/packets/kit';
import type { AccessFlag, HostCompletion, HostHandle } from '../host-control/host-control.ts';
import { HostControlError } from '../host-control/host-control.ts';
import type { Case } from '../tester/case.ts';
import { register } from '../tester/connect.ts';
import { demand } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { during } from './answers.ts';
import { badKeys, bindWindow, demandMemory, LENDING, nextKey, paint, regionBeside, sameBytes } from './memory.ts';

export const KEY_WINDOW_CASES: readonly Case[] = [
  {
    rules: ['KEY-10'],
    needs: ['host-control', 'mw2'],
    async run(t) {
      for (const kind of ['READ', 'WRITE'] as const) {
        const owner = await t.connect({ regionAccess: LENDING });
        const before = await paint(owner, pattern(2048));
        const window = await bindWindow(t, owner, 512, 256);
        await works(owner, window, 0);
        const other = await t.connect({ pd: owner.pd, region: owner.region });
        other.tx(use(window, 0, kind));
        await other.expectFatalNak(0x62, 0);
        await demandMemory(owner, 0, before, `${kind} through a window of another queue pair`);
        await works(owner, window, 1);
      }
    },
  },
  {
    rules: ['KEY-11'],
    needs: ['host-control', 'mw2'],
    async run(t) {
      for (const kind of ['READ', 'WRITE'] as const) {
        for (const outside of [-1n, 1n]) {
          const peer = await t.connect({ regionAccess: LENDING });
          const before = await paint(peer, pattern(2048));
          const window = await bindWindow(t, peer, 512, 256);
          await works(peer, window, 0);
          const va = outside < 0n ? window.va - 1n : window.va + BigInt(window.length - LENGTH + 1);
          peer.tx(use({ va, rkey: window.rkey }, 1, kind));
          await peer.expectNak(0x62, 1);
          await demandMemory(peer, 0, before, `${kind} one byte outside a window`);
        }
      }
      const peer = await t.connect({ regionAccess: LENDING });
      const mw = t.handle();
      const { rkey } = await t.hostControl.call('mw.alloc', { mw, pd: peer.pd });
      const offset = peer.region.length - LENGTH;
      const wc = await bound(peer, { mw, mr: t.need(peer.region.mr), rkey: nextKey(rkey), offset });
      demand(wc?.status !== 0, 'a window was bound that ends beyond its region');
    },
  },
  { rules: ['KEY-14'], needs: ['host-control', 'mw2'], run: sendInvalidates },
  { rules: ['KEY-15'], needs: ['host-control', 'mw2'], hazardous: true, run: invalidatesInVain },
  {
    rules: ['KEY-15'],
    title: 'in another state',
    needs: ['host-control', 'mw2'],
    hazardous: true,
    run: invalidatesNeverBound,
  },
  {
    rules: ['KEY-15'],
    title: 'a second time',
    needs: ['host-control', 'mw2'],
    hazardous: true,
    run: invalidatesTwice,
  },
  {
    rules: ['KEY-19'],
    needs: ['host-control', 'mw2'],
    hazardous: true,
    async run(t) {
      const owner = await t.connect({ regionAccess: LENDING });
      const window = await bindWindow(t, owner, 512, 256);
      await works(owner, window, 0);
      const lent = t.need(owner.region.mr);
      await t.refused('a region that a window is bound to', () => t.hostControl.call('mr.dereg', { mr: lent }));
      const other = await t.connect({ pd: owner.pd, region: owner.region });
      await allowed('a queue pair with a bound window', () => t.hostControl.call('qp.destroy', { qp: owner.qp }));
      other.tx(use(window, 0, 'READ'));
      await other.expectNak(0x62, 0);
      // The region lends nothing any more, so that it may go before the window.
      await allowed('the region', () => t.hostControl.call('mr.dereg', { mr: t.need(owner.region.mr) }));
      await allowed('the window', () => t.hostControl.call('mw.dealloc', { mw: window.mw }));
    },
  },
  {
    rules: ['KEY-19'],
    title: 'a window that is freed',
    needs: ['host-control', 'mw2'],
    hazardous: true,
    async run(t) {
      const peer = await t.connect({ regionAccess: LENDING });
      const window = await bindWindow(t, peer, 512, 256);
      await works(peer, window, 0);
      await allowed('a bound window', () => t.hostControl.call('mw.dealloc', { mw: window.mw }));
      peer.tx(use(window, 1, 'READ'));
      await peer.expectNak(0x62, 1);
    },
  },
  { rules: ['KEY-20'], needs: ['host-control', 'mw2'], run: domainsOfBinding },
  { rules: ['KEY-21'], needs: ['host-control', 'mw2'], run: rightsOfBinding },
];

const LENGTH = 16;

/** A request of one packet. */
function use({ va, rkey }: { va: bigint; rkey: number }, psn: number, kind: 'READ' | 'WRITE'): Packet {
  const reth = { va, rkey, length: LENGTH };
  return kind === 'READ'
    ? readRequest({ psn, reth })
    : writeOnly({ psn, ackReq: true, reth, payload: pattern(LENGTH, 9) });
}

/** The window opens its memory to the queue pair it was bound to. */
const works = (peer: TesterPeer, window: { va: bigint; rkey: number }, psn: number): Promise<unknown> =>
  peer.orInconclusive('a bound window', () => {
    peer.tx(use(window, psn, 'READ'));
    return peer.rx({ opcode: Op.ReadResponseOnly, psn });
  });

/** Verbs must do this. @throws Violation when they refuse, and when they do not come back */
async function allowed(what: string, call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof HostControlError) || error.kind === 'unsupported') throw error;
    demand(false, `${what} could not be destroyed: ${error.message}`);
  }
}

async function sendInvalidates(t: Tester): Promise<void> {
  const data = pattern(300, 4);
  for (const packets of [1, 2]) {
    const peer = await t.connect({ regionAccess: LENDING });
    const window = await bindWindow(t, peer, 0, 1024);
    await works(peer, window, 0);
    const inv = window.rkey;
    const payload = data.slice(0, peer.mtu);
    if (packets === 1) peer.tx(sendOnlyInv({ psn: 1, ackReq: true, inv, payload }));
    else
      peer.tx(
        sendFirst({ psn: 1, payload }),
        sendLastInv({ psn: 2, ackReq: true, inv, payload: data.slice(peer.mtu) }),
      );
    await peer.expectAck(packets);
    const length = packets === 1 ? payload.length : data.length;
    await peer.receives({ wrId: 1, byteLen: length, invalidated: inv });
    const placed = await t.memory(t.need(peer.buffers), 0, length);
    demand(sameBytes(placed, data.slice(0, length)), 'the data of the SEND is not in the buffer');
    peer.tx(use(window, packets + 1, 'READ'));
    await peer.expectFatalNak(0x62, packets + 1);
  }
}

/** Makes a key that must not be invalidated through `peer`. */
type KeyMaker = (t: Tester, peer: TesterPeer) => number | Promise<number>;

const NOT_TO_INVALIDATE: readonly (readonly [string, KeyMaker])[] = [
  ['an unknown key', (_, peer) => badKeys(peer.region.rkey)[0] ?? 0],
  ['a key of the right index and another variant', (_, peer) => badKeys(peer.region.rkey)[1] ?? 0],
  ['the key of a region that was registered for life', (_, peer) => peer.region.rkey],
  [
    'the key of a window of another protection domain',
    async (t) => (await bindWindow(t, await t.connect({ regionAccess: LENDING }), 0, 256)).rkey,
  ],
  [
    'the key of a window of another queue pair',
    async (t, { pd, region }) => (await bindWindow(t, await t.connect({ pd, region }), 0, 256)).rkey,
  ],
];

async function invalidatesInVain(t: Tester): Promise<void> {
  for (const [what, key] of NOT_TO_INVALIDATE) {
    const peer = await t.connect({ regionAccess: LENDING });
    await fails(peer, 0, await key(t, peer), what);
  }
}

async function invalidatesNeverBound(t: Tester): Promise<void> {
  const peer = await t.connect();
  const mw = t.handle();
  const { rkey } = await t.hostControl.call('mw.alloc', { mw, pd: peer.pd });
  await fails(peer, 0, rkey, 'the key of a window that was never bound');
}

async function invalidatesTwice(t: Tester): Promise<void> {
  const peer = await t.connect({ regionAccess: LENDING });
  const window = await bindWindow(t, peer, 0, 256);
  peer.tx(sendOnlyInv({ psn: 0, ackReq: true, inv: window.rkey }));
  await peer.expectAck(0);
  await peer.receives({ wrId: 1, byteLen: 0, invalidated: window.rkey });
  await fails(peer, 1, window.rkey, 'the key of a window that was invalidated already');
}

/** SEND with invalidate at `psn`: nothing on the wire, a receive that fails, and a queue pair in ERROR. */
async function fails(peer: TesterPeer, psn: number, inv: number, what: string): Promise<void> {
  peer.tx(sendOnlyInv({ psn, ackReq: true, inv, payload: pattern(16), note: what }));
  await during(`SEND with invalidate of ${what}`, peer.receives({ wrId: psn + 1, failed: 'any' }));
  await peer.expectState('ERR');
  await peer.expectSilence();
}

/** Binds with every combination of domains; `true` stands for that of the queue pair. */
async function domainsOfBinding(t: Tester): Promise<void> {
  for (const sameWindow of [true, false]) {
    for (const sameRegion of [true, false]) {
      const peer = await t.connect({ regionAccess: LENDING });
      const pd = t.handle();
      await t.hostControl.call('pd.alloc', { pd });
      const mw = t.handle();
      const { rkey } = await t.hostControl.call('mw.alloc', { mw, pd: sameWindow ? peer.pd : pd });
      const mr = sameRegion ? (await regionBeside(t, peer, 4096, LENDING)).mr : await registered(t, pd);
      const wc = await bound(peer, { mw, mr, rkey: nextKey(rkey) });
      const says = `window of ${whose(sameWindow)} and region of ${whose(sameRegion)} protection domain`;
      if (sameWindow && sameRegion) demand(wc?.status === 0, `${says}: the binding failed with status ${wc?.status}`);
      else demand(wc?.status !== 0, `${says}: the binding succeeded`);
    }
  }
}

/** A region that its owner cannot write lends no right to write. */
async function rightsOfBinding(t: Tester): Promise<void> {
  const rights: readonly (readonly [boolean, readonly AccessFlag[]])[] = [
    [true, ['remote-read']],
    [false, ['remote-write']],
    [false, ['remote-read', 'remote-write']],
    ...(t.has('atomics') ? [[false, ['remote-atomic']] as const] : []),
  ];
  for (const [good, access] of rights) {
    const peer = await t.connect({ regionAccess: LENDING });
    const { mr } = await regionBeside(t, peer, 4096, ['remote-read', 'mw-bind']);
    const mw = t.handle();
    const { rkey } = await t.hostControl.call('mw.alloc', { mw, pd: peer.pd });
    const wc = await bound(peer, { mw, mr, rkey: nextKey(rkey), access });
    const says = `a window for ${access.join(', ')} on a region without local write`;
    if (good) demand(wc?.status === 0, `${says}: the binding failed with status ${wc?.status}`);
    else demand(wc?.status !== 0, `${says}: the binding succeeded`);
  }
}

const whose = (same: boolean): string => (same ? "the queue pair's" : 'another');

async function registered(t: Tester, pd: HostHandle): Promise<HostHandle> {
  const { mr, region } = register(t, pd, 4096, LENDING);
  await region;
  return mr;
}

/** The completion of a binding; undefined when verbs refused to post it. */
async function bound(
  peer: TesterPeer,
  {
    mw,
    mr,
    rkey,
    offset = 0,
    access = ['remote-read'],
  }: { mw: HostHandle; mr: HostHandle; rkey: number; offset?: number; access?: readonly AccessFlag[] },
): Promise<HostCompletion | undefined> {
  const bind = { mw, mr, offset, length: 256, access, rkey };
  try {
    await peer.post({ wrId: 1, opcode: 'bind-mw', bind });
  } catch (error) {
    if (error instanceof HostControlError && error.kind === 'refused') return undefined;
    throw error;
  }
  const [wc] = await peer.sendCompletions(1);
  return wc;
}
