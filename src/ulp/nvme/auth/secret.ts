/**
 * Secrets of DH-HMAC-CHAP as people and nvme-cli write them: `DHHC-1:01:<base64 of key and CRC-32>:`.
 *
 * Owns the form, its check, and the key that a name makes of a secret. A message of an error never has a part of a
 * secret. Rules: ref:nvmeof#5.
 */
import { crc32 } from '../../../../packets/crc32.ts';
import { RoceError } from '../../../../packets/errors.ts';
import { DhchapHash, dhchapHashBytes, joinMessage } from '../codec/index.ts';
import type { NvmeCrypto } from './suite.ts';

/**
 * A secret that was understood. What prints it prints its kind and nothing of the key.
 *
 * @example
 * ```ts
 * import { DhchapSecret, formatDhchapSecret } from 'rocev2/nvme';
 *
 * const secret = DhchapSecret.parse(formatDhchapSecret(new Uint8Array(32).fill(7), 1));
 * // Printed, nothing of the key is seen.
 * console.log(`${secret}`, secret.hash); // DHHC-1 secret 1
 * ```
 */
export class DhchapSecret {
  /** The hash function of its transform, one of `DhchapHash`; 0 for none. */
  readonly hash: number;
  readonly #key: Uint8Array;

  private constructor(hash: number, key: Uint8Array) {
    this.hash = hash;
    this.#key = key;
  }

  /** @throws RoceError ERR_ROCE_ARGUMENT, with what is wrong and nothing of the text */
  static parse(text: string): DhchapSecret {
    const [, kind, encoded] = /^DHHC-1:(\d\d):([A-Za-z0-9+/]+={0,2}):?$/.exec(text.trim()) ?? [];
    if (kind === undefined || encoded === undefined) throw refusal('has the form DHHC-1:00:...:, as nvme-cli makes it');
    const hash = Number(kind);
    const transformed = dhchapHashBytes(hash);
    if (hash !== 0 && transformed === undefined) throw refusal('has a hash function from 00 to 03');
    const bytes = decodeBase64(encoded);
    const length = (bytes?.length ?? 0) - CRC_BYTES;
    if (bytes === undefined || !KEY_BYTES.has(length)) throw refusal('has a key of 32, 48 or 64 bytes in base64');
    if (transformed !== undefined && transformed !== length)
      throw refusal(`with the hash function ${kind} has a key of ${transformed} bytes, not ${length}`);
    const key = bytes.slice(0, length);
    if (new DataView(bytes.buffer).getUint32(length, true) !== crc32(key))
      throw refusal('has a checksum that is not that of its key: a character is wrong');
    return new DhchapSecret(hash, key);
  }

  /** The key that the host or subsystem of this name uses. */
  async keyOf(nqn: string, suite: NvmeCrypto): Promise<Uint8Array> {
    if (this.hash === 0) return this.#key.slice();
    return suite.hmac(this.hash, this.#key, joinMessage(utf8(nqn), utf8(TRANSFORM)));
  }

  /** For printers: no part of the key. */
  toString(): string {
    return 'DHHC-1 secret';
  }

  /** For printers: no part of the key. */
  toJSON(): string {
    return this.toString();
  }
}

/** The secret as it is written, from a key of 32, 48 or 64 bytes. Throws as `parse`. */
export function formatDhchapSecret(key: Uint8Array, hash: number = 0): string {
  const sum = new Uint8Array(CRC_BYTES);
  new DataView(sum.buffer).setUint32(0, crc32(key), true);
  const text = `DHHC-1:${`${hash}`.padStart(2, '0')}:${encodeBase64(joinMessage(key, sum))}:`;
  DhchapSecret.parse(text);
  return text;
}

/** A text, or a secret that was read already. Throws as `DhchapSecret.parse`. */
export function secretOf(given: string | DhchapSecret): DhchapSecret {
  return typeof given === 'string' ? DhchapSecret.parse(given) : given;
}

/** Undefined for what is no base64, trailing bits that are not 0 included. */
function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 !== 0) return undefined;
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return encodeBase64(bytes) === text ? bytes : undefined;
}

function encodeBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function refusal(what: string): RoceError {
  return new RoceError('ERR_ROCE_ARGUMENT', `a DH-HMAC-CHAP secret ${what}`);
}

const TRANSFORM = 'NVMe-over-Fabrics';
const CRC_BYTES = 4;
const KEY_BYTES: ReadonlySet<number> = new Set(
  [DhchapHash.Sha256, DhchapHash.Sha384, DhchapHash.Sha512].map((hash) => dhchapHashBytes(hash) ?? 0),
);
