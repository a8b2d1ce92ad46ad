/**
 * Node's cryptography for DH-HMAC-CHAP. Owns nothing: each function is one of `node:crypto`.
 *
 * Keys of Diffie-Hellman are key objects, whose public value is inside of a SubjectPublicKeyInfo (RFC 5280, 4.1; RFC
 * 3279, 2.3.3). `createDiffieHellman` would give it as it is, but tests the prime each time: with Node 24 that takes
 * minutes for 8192 bits, and these primes are known.
 */
import {
  createHash,
  createHmac,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyPairKeyObjectResult,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { dhchapHashName, type NvmeCrypto } from '../../ulp/nvme/index.ts';

/** As Node documents it; `@types/node` leaves 'dh' out. */
const makeDhKeys = generateKeyPairSync as unknown as (
  type: 'dh',
  options: { readonly prime: Buffer; readonly generator: number },
) => KeyPairKeyObjectResult;

/** For the option `crypto` of `connectNvme` and of subsystems with secrets. */
export const nvmeCrypto: NvmeCrypto = {
  digest: (hash, data) => new Uint8Array(createHash(dhchapHashName(hash)).update(data).digest()),
  hmac: (hash, key, data) => new Uint8Array(createHmac(dhchapHashName(hash), key).update(data).digest()),
  random: (length) => new Uint8Array(randomBytes(length)),
  equal: (a, b) => a.length === b.length && timingSafeEqual(a, b),
  keyPair(prime) {
    const { privateKey, publicKey } = makeDhKeys('dh', { prime: Buffer.from(prime), generator: GENERATOR });
    const own = publicKey.export({ type: 'spki', format: 'der' });
    return {
      publicValue: padded(publicValueOf(own), prime.length),
      shared: (peer) => {
        const key = createPublicKey({ key: withPublicValue(own, peer), type: 'spki', format: 'der' });
        return padded(diffieHellman({ privateKey, publicKey: key }), prime.length);
      },
    };
  },
};

/** The number in a public key. */
function publicValueOf(spki: Uint8Array): Uint8Array {
  const bits = contentAt(spki, algorithmOf(spki).to);
  const { from, to } = contentAt(spki, bits.from + UNUSED_BITS.length);
  return withoutZeros(spki.subarray(from, to));
}

/** A public key of the same group with another number. */
function withPublicValue(spki: Uint8Array, value: Uint8Array): Buffer {
  const { from, to } = algorithmOf(spki);
  const digits = withoutZeros(value);
  // An INTEGER that begins with a one is negative.
  const sign = (digits[0] ?? 0) >= 0x80 ? [0] : [];
  const number = element(INTEGER, Buffer.from(sign), digits);
  return element(SEQUENCE, spki.subarray(from, to), element(BIT_STRING, UNUSED_BITS, number));
}

/** Where the algorithm and the group are, with their tag and length. */
function algorithmOf(spki: Uint8Array): { readonly from: number; readonly to: number } {
  const { from } = contentAt(spki, 0);
  return { from, to: contentAt(spki, from).to };
}

/** Where the content of the DER element at `at` is. */
function contentAt(der: Uint8Array, at: number): { readonly from: number; readonly to: number } {
  const first = der[at + 1] ?? 0;
  if (first < 0x80) return { from: at + 2, to: at + 2 + first };
  const from = at + 2 + (first & 0x7f);
  const length = der.subarray(at + 2, from).reduce((sum, byte) => sum * 256 + byte, 0);
  return { from, to: from + length };
}

/** A DER element of at most 65,535 bytes. */
function element(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const long = length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...(length < 0x80 ? [length] : long)), content]);
}

function withoutZeros(value: Uint8Array): Uint8Array {
  const first = value.findIndex((byte) => byte !== 0);
  return value.subarray(first < 0 ? value.length : first);
}

/** Zeros at the front, where the value happens to be short. */
function padded(value: Uint8Array, length: number): Uint8Array {
  const whole = new Uint8Array(length);
  whole.set(value, length - value.length);
  return whole;
}

const GENERATOR = 2;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const SEQUENCE = 0x30;
/** Of the bits of a BIT STRING, none is left over. */
const UNUSED_BITS = Uint8Array.of(0);
