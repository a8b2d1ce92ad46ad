/** Node's cryptography for DH-HMAC-CHAP. Owns nothing: each function is one of `node:crypto`. */
import { createDiffieHellman, createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { dhchapHashName, type NvmeCrypto } from '../../ulp/nvme/index.ts';

/** For the option `crypto` of `connectNvme` and of subsystems with secrets. */
export const nvmeCrypto: NvmeCrypto = {
  digest: (hash, data) => new Uint8Array(createHash(dhchapHashName(hash)).update(data).digest()),
  hmac: (hash, key, data) => new Uint8Array(createHmac(dhchapHashName(hash), key).update(data).digest()),
  random: (length) => new Uint8Array(randomBytes(length)),
  equal: (a, b) => a.length === b.length && timingSafeEqual(a, b),
  keyPair(prime) {
    const keys = createDiffieHellman(prime, GENERATOR);
    return {
      publicValue: padded(keys.generateKeys(), prime.length),
      shared: (peer) => padded(keys.computeSecret(peer), prime.length),
    };
  },
};

/** Zeros at the front, where the value happens to be short. */
function padded(value: Uint8Array, length: number): Uint8Array {
  const whole = new Uint8Array(length);
  whole.set(value, length - value.length);
  return whole;
}

const GENERATOR = Uint8Array.of(2);
