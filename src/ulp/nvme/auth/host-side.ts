/**
 * The host's side of one queue's authentication: its messages, and whether the controller has its secret.
 *
 * Owns the order of messages and every check. Knows no queue: each method takes what the controller sent, and returns
 * what to send. A controller that does not do as it must ends in an outcome with a reason, never in an exception.
 * Rules: ref:nvmeof#5.
 */
import {
  AUTH_FAILURE,
  AUTH_HEADER,
  AUTH_NEGOTIATE,
  AUTH_PROTOCOL_DHCHAP,
  AUTH_REASON_FAILED,
  AuthenticationFailure,
  AuthenticationId,
  AuthenticationType,
  DHCHAP_REPLY,
  DHCHAP_SUCCESS2,
  DhchapGroup,
  DhchapHash,
  dhchapGroupBytes,
  dhchapHashBytes,
  joinMessage,
  readChallenge,
  readSuccess1,
} from '../codec/index.ts';
import { freshSequence } from './controller-side.ts';
import { groupPrime, isPublicValue } from './groups.ts';
import { type Challenge, controllerResponse, type Exchange, hostResponse, sharedValue } from './response.ts';
import type { DhchapSecret } from './secret.ts';
import type { NvmeCrypto } from './suite.ts';

/** What a host proves itself with. */
export interface HostTerms {
  readonly suite: NvmeCrypto;
  readonly hostNqn: string;
  readonly subNqn: string;
  readonly secret: DhchapSecret;
  /** With it the controller has to prove itself, too. */
  readonly controllerSecret: DhchapSecret | undefined;
}

/** What comes of a message of the controller. */
export interface HostOutcome {
  /** What to send next, if anything. */
  readonly send?: Uint8Array;
  /** Why it failed: one of `AuthenticationFailure`. */
  readonly failure?: number;
  /** Whether the controller has said so, or the host found it. */
  readonly told?: boolean;
}

export class HostSide {
  readonly #terms: HostTerms;
  readonly #transaction: number;
  #exchange: Exchange | undefined;
  #hashBytes = 0;
  #asked: Challenge | undefined;

  constructor(terms: HostTerms, transaction: number) {
    this.#terms = terms;
    this.#transaction = transaction;
  }

  /** The first message. */
  negotiate(): Uint8Array {
    return AUTH_NEGOTIATE.encode({
      type: AuthenticationType.Common,
      id: AuthenticationId.Negotiate,
      transaction: this.#transaction,
      napd: 1,
      protocol: {
        authid: AUTH_PROTOCOL_DHCHAP,
        halen: HASHES.length,
        dhlen: GROUPS.length,
        hashes: HASHES,
        groups: GROUPS,
      },
    });
  }

  /** DH-HMAC-CHAP_Challenge has come, or what is in its place. */
  async challenged(message: Uint8Array): Promise<HostOutcome> {
    const wrong = this.#fault(message, AuthenticationId.Challenge);
    if (wrong !== undefined) return wrong;
    const { suite, hostNqn, subNqn, secret, controllerSecret } = this.#terms;
    const asked = readChallenge(message);
    if (asked === undefined) return this.#fail(AuthenticationFailure.IncorrectPayload);
    const { hash, group, sequence, publicValue } = asked;
    const hashBytes = dhchapHashBytes(hash);
    if (hashBytes === undefined || asked.hl !== hashBytes) return this.#fail(AuthenticationFailure.HashNotUsable);
    const valueBytes = dhchapGroupBytes(group);
    if (valueBytes === undefined) return this.#fail(AuthenticationFailure.GroupNotUsable);
    const isNull = group === DhchapGroup.Null;
    if (asked.dhvlen !== valueBytes || sequence === 0 || !(isNull || isPublicValue(group, publicValue)))
      return this.#fail(AuthenticationFailure.IncorrectPayload);
    const keys = isNull ? undefined : await suite.keyPair(groupPrime(group));
    const shared = await sharedValue(group, keys, publicValue);
    const exchange = { hash, group, hostNqn, subNqn, transaction: this.#transaction };
    this.#exchange = exchange;
    this.#hashBytes = hashBytes;
    const response = await hostResponse(suite, exchange, { value: asked.challenge, sequence, shared }, secret);
    if (controllerSecret !== undefined)
      this.#asked = { value: suite.random(hashBytes), sequence: freshSequence(suite), shared };
    const fixed = DHCHAP_REPLY.encode({
      type: AuthenticationType.DhHmacChap,
      id: AuthenticationId.Reply,
      transaction: this.#transaction,
      hl: hashBytes,
      challenged: this.#asked !== undefined,
      dhvlen: keys?.publicValue.length ?? 0,
      sequence: this.#asked?.sequence ?? 0,
    });
    const own = this.#asked?.value ?? new Uint8Array(hashBytes);
    return { send: joinMessage(fixed, response, own, keys?.publicValue ?? new Uint8Array(0)) };
  }

  /** DH-HMAC-CHAP_Success1 has come, or what is in its place. Without a failure the queue is authenticated. */
  async succeeded(message: Uint8Array): Promise<HostOutcome> {
    const wrong = this.#fault(message, AuthenticationId.Success1);
    if (wrong !== undefined) return wrong;
    const success = readSuccess1(message);
    if (success === undefined || success.hl !== this.#hashBytes || this.#exchange === undefined)
      return this.#fail(AuthenticationFailure.IncorrectPayload);
    const { suite, controllerSecret } = this.#terms;
    if (this.#asked === undefined || controllerSecret === undefined) return {};
    // A controller that leaves the proof out has none.
    const right = await controllerResponse(suite, this.#exchange, this.#asked, controllerSecret);
    if (!success.responds || !suite.equal(right, success.response)) return this.#fail(AuthenticationFailure.Failed);
    return {
      send: DHCHAP_SUCCESS2.encode({
        type: AuthenticationType.DhHmacChap,
        id: AuthenticationId.Success2,
        transaction: this.#transaction,
      }),
    };
  }

  /** What is wrong with a message that should be `expected`; undefined for nothing. */
  #fault(message: Uint8Array, expected: number): HostOutcome | undefined {
    const header = AUTH_HEADER.read(message);
    if (header === undefined) return this.#fail(AuthenticationFailure.IncorrectPayload);
    const { type, id, transaction } = header;
    if (type === AuthenticationType.Common && id === AuthenticationId.Failure1) {
      const explanation = AUTH_FAILURE.read(message)?.explanation ?? 0;
      return { failure: explanation === 0 ? AuthenticationFailure.Failed : explanation, told: true };
    }
    if (type !== AuthenticationType.DhHmacChap || id !== expected)
      return this.#fail(AuthenticationFailure.IncorrectMessage);
    return transaction === this.#transaction ? undefined : this.#fail(AuthenticationFailure.IncorrectPayload);
  }

  #fail(failure: number): HostOutcome {
    return {
      failure,
      told: false,
      send: AUTH_FAILURE.encode({
        type: AuthenticationType.Common,
        id: AuthenticationId.Failure2,
        transaction: this.#transaction,
        reason: AUTH_REASON_FAILED,
        explanation: failure,
      }),
    };
  }
}

const HASHES = [DhchapHash.Sha256, DhchapHash.Sha384, DhchapHash.Sha512];
const GROUPS = [
  DhchapGroup.Null,
  DhchapGroup.Ffdhe2048,
  DhchapGroup.Ffdhe3072,
  DhchapGroup.Ffdhe4096,
  DhchapGroup.Ffdhe6144,
  DhchapGroup.Ffdhe8192,
];
