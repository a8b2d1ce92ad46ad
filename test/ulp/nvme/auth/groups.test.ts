// Goal: the primes are those of RFC 7919, and values that give a key away are none of a group.
import { createHash, generatePrimeSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { nvmeCrypto } from '../../../../src/node/nvme/crypto.ts';
import { groupPrime, isPublicValue } from '../../../../src/ulp/nvme/auth/groups.ts';
import { DhchapGroup, dhchapGroupBytes, dhchapGroupName } from '../../../../src/ulp/nvme/codec/index.ts';

const GROUPS = Object.values(DhchapGroup).filter((group) => group !== DhchapGroup.Null);
const small = (group: number, value: number): Uint8Array => {
  const bytes = new Uint8Array(dhchapGroupBytes(group) ?? 0);
  bytes[bytes.length - 1] = value;
  return bytes;
};
const belowPrime = (group: number, by: number): Uint8Array => {
  const bytes = groupPrime(group).slice();
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) - by;
  return bytes;
};

describe.each(GROUPS.map((group) => [dhchapGroupName(group), group] as const))('%s', (name, group) => {
  it('has the prime that OpenSSL has', () => {
    expect(createHash('sha256').update(groupPrime(group)).digest('hex')).toBe(SUMS[name]);
  });

  it.each<[string, boolean, Uint8Array]>([
    ['0', false, small(group, 0)],
    ['1', false, small(group, 1)],
    ['2', true, small(group, 2)],
    ['p-2', true, belowPrime(group, 2)],
    ['p-1', false, belowPrime(group, 1)],
    ['p', false, groupPrime(group)],
    ['the largest number', false, new Uint8Array(groupPrime(group).length).fill(0xff)],
    ['a value that is too short', false, small(group, 2).subarray(1)],
    ['nothing', false, new Uint8Array(0)],
  ])('takes %s as a public value: %s', (_, right, value) => {
    expect(isPublicValue(group, value)).toBe(right);
  });

  it('gives both sides the same value', async () => {
    const [a, b] = await Promise.all([nvmeCrypto.keyPair(groupPrime(group)), nvmeCrypto.keyPair(groupPrime(group))]);
    expect(isPublicValue(group, a.publicValue)).toBe(true);
    const shared = await a.shared(b.publicValue);
    expect(shared).toHaveLength(groupPrime(group).length);
    expect(await b.shared(a.publicValue)).toEqual(shared);
  });
});

it('a shared value that begins with zeros keeps them', async () => {
  const prime = new Uint8Array(generatePrimeSync(512));
  const { shared } = await nvmeCrypto.keyPair(prime);
  const lengths = new Set<number>();
  let short = 0;
  for (let peer = 2; peer < 4000 && short === 0; peer++) {
    const value = await shared(Uint8Array.of(peer >> 8, peer & 0xff));
    lengths.add(value.length);
    if (value[0] === 0) short++;
  }
  expect([...lengths, short]).toEqual([64, 1]);
});

/** SHA-256 of each prime, big-endian. */
const SUMS: Readonly<Record<string, string>> = {
  ffdhe2048: '9cd3b7f336872f46c09428d1bbc19877a4d440512cda8d1c1cf0cd6e33698966',
  ffdhe3072: '0eaf67db3a839156d5013494a5318a772b5697d270d721f37f092efc69ea5a17',
  ffdhe4096: '4648414224ac881b3d0dc59b466f96d06a558278776807797ecf1f66ff397b3e',
  ffdhe6144: '227ac9066b3ddd9e193670cda2388fa884f65ba0cf98b742d1fe77a6687c79c7',
  ffdhe8192: '770b14efaf6f049929c523113b3fa99a8d11dab1b18af3609590122075d19833',
};
