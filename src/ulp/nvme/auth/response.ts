/**
 * The responses to challenges: what each side computes, and what the other compares it with.
 *
 * Owns which bytes are hashed, and in which order. Rules: ref:nvmeof#5.
 */
import { DhchapGroup, joinMessage } from '../codec/index.ts';
import type { DhchapSecret } from './secret.ts';
import type { DhKeyPair, NvmeCrypto } from './suite.ts';

/** What both sides know of one exchange. */
export interface Exchange {
  /** One of `DhchapHash`. */
  readonly hash: number;
  /** One of `DhchapGroup`. */
  readonly group: number;
  readonly transaction: number;
  readonly hostNqn: string;
  readonly subNqn: string;
}

/** One challenge, and the value that both share by Diffie-Hellman; undefined in the null group. */
export interface Challenge {
  readonly value: Uint8Array;
  readonly sequence: number;
  readonly shared: Uint8Array | undefined;
}

/** What the host answers to the challenge of the controller. */
export function hostResponse(
  suite: NvmeCrypto,
  exchange: Exchange,
  challenge: Challenge,
  secret: DhchapSecret,
): Promise<Uint8Array> {
  const { hostNqn, subNqn } = exchange;
  return response(suite, exchange, challenge, secret, ['HostHost', hostNqn, subNqn]);
}

/** What the controller answers to the challenge of the host. */
export function controllerResponse(
  suite: NvmeCrypto,
  exchange: Exchange,
  challenge: Challenge,
  secret: DhchapSecret,
): Promise<Uint8Array> {
  const { hostNqn, subNqn } = exchange;
  return response(suite, exchange, challenge, secret, ['Controller', subNqn, hostNqn]);
}

/** What both sides share by Diffie-Hellman; undefined in the null group. */
export async function sharedValue(
  group: number,
  keys: DhKeyPair | undefined,
  peer: Uint8Array,
): Promise<Uint8Array | undefined> {
  return group === DhchapGroup.Null ? undefined : keys?.shared(peer);
}

/** Who is named first is who answers: the secret is that of its name. */
async function response(
  suite: NvmeCrypto,
  { hash, transaction }: Exchange,
  { value, sequence, shared }: Challenge,
  secret: DhchapSecret,
  [role, own, other]: readonly [role: string, own: string, other: string],
): Promise<Uint8Array> {
  const key = await secret.keyOf(own, suite);
  const augmented = shared === undefined ? value : await suite.hmac(hash, await suite.digest(hash, shared), value);
  const numbers = new Uint8Array(NUMBERS_BYTES);
  const view = new DataView(numbers.buffer);
  view.setUint32(0, sequence, true);
  // The byte behind the transaction is that of the secure channel: none.
  view.setUint16(4, transaction, true);
  const text = new TextEncoder();
  const zero = Uint8Array.of(0);
  return suite.hmac(
    hash,
    key,
    joinMessage(augmented, numbers, text.encode(role), text.encode(own), zero, text.encode(other)),
  );
}

const NUMBERS_BYTES = 7;
