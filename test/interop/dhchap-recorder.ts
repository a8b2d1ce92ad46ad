/**
 * What a kernel has computed in an authentication with us, with all that goes into it: what test/vectors/dhchap.json
 * is made of. It looks over the shoulder of the cryptography of our side.
 */
import type { NvmeCrypto } from '../../src/ulp/nvme/index.ts';

/** One response of a kernel; bytes in hexadecimal. */
export interface KernelResponse {
  readonly kernel: string;
  /** Whose response it is. */
  readonly role: 'host' | 'controller';
  readonly secret: string;
  readonly hostNqn: string;
  readonly subNqn: string;
  readonly hash: number;
  readonly group: number;
  readonly transaction: number;
  readonly sequence: number;
  readonly challenge: string;
  /** By Diffie-Hellman; null without group. */
  readonly shared: string | null;
  readonly response: string;
}

/** What the recorder cannot see. */
export type Known = Pick<KernelResponse, 'kernel' | 'role' | 'secret' | 'hostNqn' | 'subNqn' | 'hash' | 'group'>;

/** What went into a comparison. */
interface Compared {
  readonly challenge: Uint8Array;
  readonly shared: Uint8Array | undefined;
  /** Begins with the challenge, the sequence number and the transaction. */
  readonly hashed: Uint8Array;
  readonly response: Uint8Array;
}

export class DhchapRecorder {
  readonly suite: NvmeCrypto;
  #compared: Compared | undefined;

  constructor(suite: NvmeCrypto) {
    let challenge = new Uint8Array(0);
    let shared: Uint8Array | undefined;
    let hashed = new Uint8Array(0);
    this.suite = {
      digest: (hash, data) => suite.digest(hash, data),
      hmac: (hash, key, data) => {
        hashed = data.slice();
        return suite.hmac(hash, key, data);
      },
      random: (length) => {
        const bytes = suite.random(length);
        if (length >= HASH_BYTES) challenge = bytes.slice();
        return bytes;
      },
      equal: (a, b) => {
        this.#compared = { challenge, shared, hashed, response: b.slice() };
        return suite.equal(a, b);
      },
      keyPair: async (prime) => {
        const keys = await suite.keyPair(prime);
        return {
          publicValue: keys.publicValue,
          shared: async (peer) => {
            shared = await keys.shared(peer);
            return shared;
          },
        };
      },
    };
  }

  /** The last response that was compared. */
  last(known: Known): KernelResponse {
    if (this.#compared === undefined) throw new Error('nothing was compared');
    const { challenge, shared, hashed, response } = this.#compared;
    const numbers = new DataView(hashed.buffer, challenge.length);
    return {
      ...known,
      sequence: numbers.getUint32(0, true),
      transaction: numbers.getUint16(4, true),
      challenge: hex(challenge),
      shared: known.group === 0 || shared === undefined ? null : hex(shared),
      response: hex(response),
    };
  }
}

/** The shortest challenge: what is shorter is a number. */
const HASH_BYTES = 32;
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
