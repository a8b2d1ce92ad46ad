/**
 * The Diffie-Hellman groups of RFC 7919, whose generator is 2, and which public values they have.
 *
 * Owns the primes. They are computed from their formula, 2^b - 2^(b-64) + (floor(2^(b-130) e) + X) 2^64 - 1, once each;
 * the test compares them with those that OpenSSL knows.
 */
import { invariant } from '../../../../packets/errors.ts';
import { dhchapGroupBytes } from '../codec/index.ts';

/** The prime of a group, big-endian. The group is one of `DhchapGroup` other than null. */
export function groupPrime(group: number): Uint8Array {
  let prime = PRIMES.get(group);
  if (prime === undefined) {
    prime = computePrime(group);
    PRIMES.set(group, prime);
  }
  return prime;
}

/** Whether it may be a public value of the group: as long as the prime, and from 2 to p-2. */
export function isPublicValue(group: number, value: Uint8Array): boolean {
  const prime = groupPrime(group);
  if (value.length !== prime.length) return false;
  const last = prime.length - 1;
  if (value.subarray(0, last).every((byte) => byte === 0)) return (value[last] ?? 0) > 1;
  // Not p-1 and not more: p is odd, so p-1 differs in the last bit alone.
  for (let i = 0; i < last; i++) {
    const difference = (value[i] ?? 0) - (prime[i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return (value[last] ?? 0) < (prime[last] ?? 0) - 1;
}

function computePrime(group: number): Uint8Array {
  const x = X[group];
  const length = dhchapGroupBytes(group);
  invariant(x !== undefined && length !== undefined, 'the null group has no prime');
  const bits = BigInt(length) * 8n;
  const middle = floorOfE(bits - 130n) + x;
  let rest = (1n << bits) - (1n << (bits - 64n)) + (middle << 64n) - 1n;
  const prime = new Uint8Array(length);
  for (let i = length - 1; i >= 0; i--) {
    prime[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return prime;
}

/** floor(2^bits e), by the series of 1/k!. */
function floorOfE(bits: bigint): bigint {
  let term = 1n << (bits + GUARD_BITS);
  let sum = term;
  for (let k = 1n; term > 0n; k++) {
    term /= k;
    sum += term;
  }
  return sum >> GUARD_BITS;
}

/** More than the terms of the series lose by rounding. */
const GUARD_BITS = 64n;
const X: Readonly<Record<number, bigint>> = {
  1: 560_316n,
  2: 2_625_351n,
  3: 5_736_041n,
  4: 15_705_020n,
  5: 10_965_728n,
};
const PRIMES = new Map<number, Uint8Array>();
