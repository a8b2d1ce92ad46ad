/**
 * Regions and keys: bounds in 64 bits, unpredictable and never lightly reused keys. Method: direct calls, and a bigint
 * oracle.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RoceError } from '../../packets/errors.ts';
import { KeyTable } from '../../transport/key-table.ts';
import { Access, ProtectionDomain } from '../../transport/memory.ts';
import { ALL_ACCESS, seededRandom } from './support/peer.ts';

const pd = new ProtectionDomain(1);
const table = (limit = 1000) => new KeyTable(seededRandom(7), limit);
const at = (va: bigint): [number, number] => [Number((va >> 32n) & 0xffff_ffffn), Number(va & 0xffff_ffffn)];

describe('region bounds', () => {
  it('KEY-05 KEY-06 agree with an oracle that counts in bigints', () => {
    const near = fc.bigInt({ min: -20n, max: 20n });
    const edge = fc.constantFrom(0n, 1n << 31n, 1n << 32n, 1n << 53n, 1n << 63n, (1n << 64n) - 16n);
    fc.assert(
      fc.property(edge, fc.nat(64), near, near, fc.nat(80), (iovaEdge, size, shift, offset, length) => {
        const iova = iovaEdge + shift < 0n ? 0n : iovaEdge + shift;
        fc.pre(iova + BigInt(size) <= 1n << 64n);
        const region = table().register(pd, new Uint8Array(size), { access: ALL_ACCESS, iova });
        const va = BigInt.asUintN(64, iova + offset);
        const inside = va >= iova && va + BigInt(length) <= iova + BigInt(size);
        expect(region.grant.offsetOf(...at(va), length)).toBe(inside ? Number(va - iova) : -1);
      }),
      { numRuns: 3000 },
    );
  });

  it.each([2 ** 31, 2 ** 31 + 1, 2 ** 32 - 1])('SEC-08 a length of %i is judged without wrapping', (length) => {
    const region = table().register(pd, new Uint8Array(4096), { access: ALL_ACCESS, iova: 0n });
    for (const va of [0n, 1n, 4095n, 4096n, 0xffff_ffffn, (1n << 64n) - 1n]) {
      expect(region.grant.offsetOf(...at(va), length)).toBe(-1);
    }
  });

  it('a region need not start or end at any boundary, and has bytes of a larger buffer', () => {
    const bytes = new Uint8Array(100).subarray(13, 50);
    const region = table().register(pd, bytes, { access: ALL_ACCESS, iova: 0x1234_5678_9abdn });
    expect(region.grant.offsetOf(...at(0x1234_5678_9abdn), 37)).toBe(0);
    expect(region.grant.offsetOf(...at(0x1234_5678_9abdn), 38)).toBe(-1);
    region.view.setUint8(0, 0xee);
    expect(bytes[0]).toBe(0xee);
  });
});

describe('keys', () => {
  it('SEC-06 are unpredictable: not consecutive, and different for another random source', () => {
    const register = (seed: number) => {
      const keys = new KeyTable(seededRandom(seed), 1000);
      return Array.from({ length: 200 }, () => keys.register(pd, new Uint8Array(1), { access: 0, iova: 0n }).rkey);
    };
    const keys = register(1);
    expect(new Set(keys).size).toBe(200);
    expect(keys.every((key) => key > 0xff && key <= 0xffff_ffff)).toBe(true);
    const steps = keys.slice(1).map((key, i) => key - (keys[i] ?? 0));
    expect(new Set(steps).size).toBeGreaterThan(190);
    expect(register(2)).not.toEqual(keys);
    expect(register(1)).toEqual(keys);
  });

  it('SEC-06 the variant moves on with every registration', () => {
    const keys = table();
    const variants = Array.from({ length: 300 }, () => {
      const region = keys.register(pd, new Uint8Array(1), { access: 0, iova: 0n });
      keys.deregister(region);
      return region.rkey & 0xff;
    });
    for (let i = 1; i < variants.length; i++) expect(variants[i]).toBe(((variants[i - 1] ?? 0) + 1) & 0xff);
  });

  it('a key drawn twice is drawn again, and an index of zero is never given out', () => {
    let calls = 0;
    const values = [0, 0, 0x0000_00ff, 0x1234_5600, 0x1234_5600, 0x1234_5700];
    const keys = new KeyTable({ u32: () => values[calls++] ?? 0x9999_9900 + calls * 0x100 }, 1000);
    const first = keys.register(pd, new Uint8Array(1), { access: 0, iova: 0n });
    expect(first.rkey >>> 8).toBe(0x12_34_56);
  });

  it('KEY-07 KEY-08 KEY-09 a key opens for its domain, its rights and its lifetime alone', () => {
    const keys = table();
    const pd = new ProtectionDomain(9);
    const region = keys.register(pd, new Uint8Array(8), { access: Access.RemoteRead, iova: 0n });
    expect(keys.find(region.rkey, pd, Access.RemoteRead, 5)).toBe(region.grant);
    expect(keys.find(region.rkey, pd, 0, 6)).toBe(region.grant);
    expect(keys.find(region.rkey, pd, Access.RemoteWrite, 5)).toBeUndefined();
    expect(keys.find(region.rkey, pd, Access.RemoteRead | Access.RemoteWrite, 5)).toBeUndefined();
    expect(keys.find(region.rkey, new ProtectionDomain(1), 0, 5)).toBeUndefined();
    expect(keys.find(region.rkey ^ 1, pd, 0, 5)).toBeUndefined();
    expect(keys.find(region.rkey ^ 0x100, pd, 0, 5)).toBeUndefined();
    keys.deregister(region);
    expect(keys.find(region.rkey, pd, 0, 5)).toBeUndefined();
    expect([keys.size, pd.users]).toEqual([0, 0]);
  });
});

describe('misuse', () => {
  const code = (call: () => void): string => {
    try {
      call();
      return 'ok';
    } catch (error) {
      return error instanceof RoceError ? error.code : String(error);
    }
  };

  it.each([
    [{ access: Access.ZeroBased, iova: 0n }, 'ERR_ROCE_ARGUMENT'],
    [{ access: 0x40, iova: 0n }, 'ERR_ROCE_ARGUMENT'],
    [{ access: Access.FlushPersistent, iova: 0n }, 'ERR_ROCE_ARGUMENT'],
    [{ access: Access.FlushPersistent, iova: 0n, persistent: () => undefined }, 'ok'],
    [{ access: Access.MwBind | Access.FlushGlobal, iova: 0n }, 'ok'],
    [{ access: -1, iova: 0n }, 'ERR_ROCE_ARGUMENT'],
    [{ access: Access.RemoteWrite, iova: 0n }, 'ERR_ROCE_ARGUMENT'],
    [{ access: Access.RemoteAtomic, iova: 0n }, 'ERR_ROCE_ARGUMENT'],
    [{ access: 0, iova: -1n }, 'ERR_ROCE_ARGUMENT'],
    [{ access: 0, iova: (1n << 64n) - 7n }, 'ERR_ROCE_ARGUMENT'],
    [{ access: 0, iova: 1n << 64n }, 'ERR_ROCE_ARGUMENT'],
    [{ access: 0, iova: (1n << 64n) - 8n }, 'ok'],
    [{ access: ALL_ACCESS, iova: 0n }, 'ok'],
  ])('registering with %o is %s', (options, expected) => {
    const keys = table();
    const domain = new ProtectionDomain(5);
    expect(code(() => keys.register(domain, new Uint8Array(8), options))).toBe(expected);
    expect([keys.size, domain.users]).toEqual(expected === 'ok' ? [1, 1] : [0, 0]);
  });

  it('a full table refuses until something is deregistered', () => {
    const keys = table(2);
    const options = { access: 0, iova: 0n };
    const first = keys.register(pd, new Uint8Array(1), options);
    keys.register(pd, new Uint8Array(1), options);
    expect(code(() => keys.register(pd, new Uint8Array(1), options))).toBe('ERR_ROCE_LIMIT');
    keys.deregister(first);
    expect(code(() => keys.register(pd, new Uint8Array(1), options))).toBe('ok');
  });

  it('a region that is registered anew keeps its key and its memory, and is of another domain', () => {
    const keys = table();
    const [domain, other] = [new ProtectionDomain(7), new ProtectionDomain(8)];
    const region = keys.register(domain, Uint8Array.of(1, 2, 3), { access: Access.RemoteRead, iova: 9n });
    const { rkey, grant } = region;
    keys.reregister(region, other, Access.LocalWrite | Access.RemoteWrite);
    expect([region.rkey, region.iova, region.bytes, grant.valid]).toEqual([rkey, 9n, Uint8Array.of(1, 2, 3), false]);
    expect([domain.users, other.users]).toEqual([0, 1]);
    expect(keys.find(rkey, domain, 0, 1)).toBeUndefined();
    expect(keys.find(rkey, other, Access.RemoteRead, 1)).toBeUndefined();
    expect(keys.find(rkey, other, Access.RemoteWrite, 1)).toBe(region.grant);
    expect(code(() => keys.reregister(region, domain, Access.RemoteWrite))).toBe('ERR_ROCE_ARGUMENT');
    expect([region.pd, region.valid]).toEqual([other, true]);
    keys.deregister(region);
    expect(code(() => keys.reregister(region, domain, 0))).toBe('ERR_ROCE_STATE');
  });

  it('deregistering twice, or at another table, is refused', () => {
    const keys = table();
    const region = keys.register(pd, new Uint8Array(1), { access: 0, iova: 0n });
    expect(code(() => table().deregister(region))).toBe('ERR_ROCE_STATE');
    keys.deregister(region);
    expect(code(() => keys.deregister(region))).toBe('ERR_ROCE_STATE');
    expect(region.valid).toBe(false);
  });
});
