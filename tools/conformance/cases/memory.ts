/**
 * What cases on memory have in common: words of 64 bits, keys that open nothing, regions and windows beside those of a
 * connection. Owns no rule; a probe that has to work and does not makes a case inconclusive.
 */
import type { AccessFlag, HostHandle } from '../host-control/host-control.ts';
import { register } from '../tester/connect.ts';
import { demand, Inconclusive } from '../tester/outcome.ts';
import type { Region, TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';

/** A word as memory of nearly every RDMA host has it: little-endian. */
export function wordBytes(value: bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value, true);
  return bytes;
}

/** The little-endian word at the front of `bytes`. */
export const wordOf = (bytes: Uint8Array): bigint =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(0, true);

export const readWord = async (peer: TesterPeer, offset: number): Promise<bigint> =>
  wordOf(await peer.memory(offset, 8));

export const setWord = (peer: TesterPeer, offset: number, value: bigint): Promise<void> =>
  peer.setMemory(offset, wordBytes(value));

export const sameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i]);

/** Bytes of the region have to be these. @throws Violation */
export async function demandMemory(
  peer: TesterPeer,
  offset: number,
  expected: Uint8Array,
  what: string,
): Promise<void> {
  const found = await peer.memory(offset, expected.length);
  demand(sameBytes(found, expected), () => {
    const at = found.findIndex((byte, i) => byte !== expected[i]);
    return `${what}: byte ${offset + at} of the region is ${found[at]} and had to be ${expected[at]}`;
  });
}

/** Fills the whole region, so that any byte that changes shows. Returns what it has. */
export async function paint(peer: TesterPeer, bytes: Uint8Array): Promise<Uint8Array> {
  await peer.setMemory(0, bytes);
  return bytes;
}

/** Keys that no region has: another index, and the right index with another variant in its low 8 bits. */
export const badKeys = (rkey: number): readonly number[] => [(rkey ^ 0xa5_a5_a5_00) >>> 0, (rkey ^ 0x5a) >>> 0];

/** A region of the same protection domain, with a key of its own. */
export function regionBeside(
  t: Tester,
  peer: TesterPeer,
  length: number,
  access: readonly AccessFlag[],
): Promise<Region & { readonly mr: HostHandle }> {
  const { mr, region } = register(t, peer.pd, length, access);
  return region.then((made) => ({ ...made, mr }));
}

/** A memory window of type 2 that is bound: what a peer needs to use it. */
export interface Window {
  readonly mw: HostHandle;
  readonly va: bigint;
  readonly rkey: number;
  readonly length: number;
}

/** Access of a region that windows may be bound to. */
export const LENDING: readonly AccessFlag[] = [
  'local-write',
  'remote-write',
  'remote-read',
  'remote-atomic',
  'mw-bind',
];

/**
 * Binds a new window to `length` bytes at `offset` of the connection's region, through its queue pair. @throws
 * Inconclusive
 */
export async function bindWindow(t: Tester, peer: TesterPeer, offset: number, length: number): Promise<Window> {
  const mw = t.handle();
  const { rkey: unbound } = await t.hostControl.call('mw.alloc', { mw, pd: peer.pd });
  const rkey = nextKey(unbound);
  const access = ['remote-write', 'remote-read'] as const;
  const mr = t.need(peer.region.mr);
  await peer.post({ wrId: 900, opcode: 'bind-mw', bind: { mw, mr, offset, length, access, rkey } });
  const [wc] = await peer.orInconclusive('binding a window', () => peer.sendCompletions(1));
  if (wc?.status !== 0) throw new Inconclusive(`a window could not be bound: status ${wc?.status}`);
  return { mw, va: peer.region.va + BigInt(offset), rkey, length };
}

/** The key that the next binding is to have, as ibv_inc_rkey gives it: the low 8 bits move on. */
export const nextKey = (rkey: number): number => ((rkey & ~0xff) | ((rkey + 1) & 0xff)) >>> 0;
