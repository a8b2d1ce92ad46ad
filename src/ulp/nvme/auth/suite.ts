/**
 * What DH-HMAC-CHAP needs of cryptography. Owns the interface alone: `nvmeCrypto` of `rocev2/node` is Node's, and a
 * page can bring that of its browser, whose functions are asynchronous.
 */

/** A value, now or later. */
export type NowOrLater<T> = T | Promise<T>;

/** Hash functions, chance, and Diffie-Hellman. */
export interface NvmeCrypto {
  /** Digest by one of `DhchapHash`. */
  digest(hash: number, data: Uint8Array): NowOrLater<Uint8Array>;
  /** HMAC by one of `DhchapHash`. */
  hmac(hash: number, key: Uint8Array, data: Uint8Array): NowOrLater<Uint8Array>;
  /** Bytes that nobody can foretell. */
  random(length: number): Uint8Array;
  /** Whether two values of the same length are equal, in a time that does not depend on where they differ. */
  equal(a: Uint8Array, b: Uint8Array): boolean;
  /** A fresh pair of keys in the group of this prime, big-endian, whose generator is 2. */
  keyPair(prime: Uint8Array): NowOrLater<DhKeyPair>;
}

/** A private value that never leaves it. */
export interface DhKeyPair {
  /** As long as the prime, big-endian. */
  readonly publicValue: Uint8Array;
  /** What it shares with the other's public value, as long as the prime. The value was checked: 2 to p-2. */
  shared(peer: Uint8Array): NowOrLater<Uint8Array>;
}
