/**
 * Goal: Diffie-Hellman over the groups of RFC 7919 gives what Node's own class gives. Method: `createDiffieHellman` is
 * the peer, over a small safe prime, whose test takes no time, and over 2048 bits.
 */
import { createDiffieHellman } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { nvmeCrypto } from '../../../src/node/nvme/crypto.ts';
import { groupPrime } from '../../../src/ulp/nvme/auth/groups.ts';

/** 2^511 and more: the smallest that OpenSSL accepts. */
const SMALL = createDiffieHellman(512, 2).getPrime();

it.each([
  ['512 bits', new Uint8Array(SMALL), 40],
  ['ffdhe2048', groupPrime(1), 2],
])('agrees with Node on a secret: %s', async (_, prime, numRuns) => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), async () => {
      const ours = await nvmeCrypto.keyPair(prime);
      const theirs = createDiffieHellman(prime, Uint8Array.of(2));
      const value = theirs.generateKeys();
      expect(ours.publicValue).toHaveLength(prime.length);
      const shared = theirs.computeSecret(ours.publicValue);
      const padded = new Uint8Array(prime.length);
      padded.set(shared, prime.length - shared.length);
      expect(await ours.shared(value)).toEqual(padded);
    }),
    { numRuns },
  );
});

it.each([1, 2, 3, 4, 5])('makes keys of group %i, and two ends agree', async (group) => {
  const prime = groupPrime(group);
  const [a, b] = [await nvmeCrypto.keyPair(prime), await nvmeCrypto.keyPair(prime)];
  expect(a.publicValue).not.toEqual(b.publicValue);
  const secret = await a.shared(b.publicValue);
  expect(secret).toEqual(await b.shared(a.publicValue));
  expect(secret).toHaveLength(prime.length);
});

it('takes a value that is shorter than the prime', async () => {
  const prime = groupPrime(1);
  const two = new Uint8Array(prime.length);
  two[prime.length - 1] = 2;
  const ours = await nvmeCrypto.keyPair(prime);
  // 2 to the power of our key, which is our public value.
  expect(await ours.shared(two)).toEqual(ours.publicValue);
});
