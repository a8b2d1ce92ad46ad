/**
 * The controller's side of one queue's authentication: which message comes now, and whether the host has the secret.
 *
 * Owns the order of messages and every check. Knows no queue, no time and no status of a command: a message comes in by
 * `take`, the next goes out by `give`. Whatever a host sends ends in AUTH_Failure1 with a reason, and never throws.
 * Rules: ref:nvmeof#5.
 */
import {
  AUTH_FAILURE,
  AUTH_HEADER,
  AUTH_NEGOTIATE,
  AUTH_PROTOCOL,
  AUTH_PROTOCOL_DHCHAP,
  AUTH_REASON_FAILED,
  AuthenticationFailure,
  AuthenticationId,
  AuthenticationType,
  type AuthProtocol,
  DHCHAP_CHALLENGE,
  DHCHAP_SUCCESS1,
  DHCHAP_SUCCESS2,
  DhchapGroup,
  dhchapHashBytes,
  joinMessage,
  readReply,
} from '../codec/index.ts';
import { groupPrime, isPublicValue } from './groups.ts';
import { type Challenge, controllerResponse, type Exchange, hostResponse, sharedValue } from './response.ts';
import type { DhchapSecret } from './secret.ts';
import type { DhKeyPair, NvmeCrypto } from './suite.ts';

/** What a controller demands of one host. */
export interface ControllerTerms {
  readonly suite: NvmeCrypto;
  readonly hostNqn: string;
  readonly subNqn: string;
  /** Of the host. */
  readonly secret: DhchapSecret;
  /** Of the controller; without it hosts that ask for a proof are refused. */
  readonly controllerSecret: DhchapSecret | undefined;
  /** One of `DhchapHash`. */
  readonly hash: number;
  /** One of `DhchapGroup`. */
  readonly group: number;
}

/** Where an exchange is: the message that comes next. */
export type ControllerStep = 'negotiate' | 'challenge' | 'reply' | 'success1' | 'success2' | 'failure1' | 'failed';

export class ControllerSide {
  /** Whether the host has proved itself on this queue. Stays while it does so again. */
  authenticated = false;
  /** How often it has. */
  proofs = 0;
  /** Why the last exchange failed: one of `AuthenticationFailure`; 0 while none has. */
  failure = 0;
  readonly #terms: () => ControllerTerms | undefined;
  #step: ControllerStep = 'negotiate';
  #of: Running | undefined;
  #transaction = 0;

  /** `terms` is asked at each negotiation: undefined where the host has no secret any more. */
  constructor(terms: () => ControllerTerms | undefined) {
    this.#terms = terms;
  }

  /** Which message comes next. */
  get step(): ControllerStep {
    return this.#step;
  }

  /** Whether it is in the middle of an exchange. */
  get running(): boolean {
    return this.#step !== 'negotiate' && this.#step !== 'failed';
  }

  /** Forgets an exchange that was not ended in time. */
  forget(): void {
    if (!this.running) return;
    this.#of = undefined;
    this.#step = 'negotiate';
  }

  /** A message of the host. */
  async take(message: Uint8Array): Promise<void> {
    if (this.#step === 'failed') return;
    const header = AUTH_HEADER.read(message);
    if (header === undefined) return this.#fail(AuthenticationFailure.IncorrectPayload);
    const { type, id, transaction } = header;
    const common = type === AuthenticationType.Common;
    if (common && id === AuthenticationId.Failure2) {
      this.#end(AUTH_FAILURE.read(message)?.explanation ?? AuthenticationFailure.Failed);
      return;
    }
    // The controller has yet to say why the last exchange failed.
    if (this.#step === 'failure1') return;
    if (common && id === AuthenticationId.Negotiate) {
      this.#transaction = transaction;
      return this.#negotiate(message);
    }
    if (type !== AuthenticationType.DhHmacChap || id !== EXPECTED[this.#step] || this.#of === undefined)
      return this.#fail(AuthenticationFailure.IncorrectMessage);
    if (transaction !== this.#transaction) return this.#fail(AuthenticationFailure.IncorrectPayload);
    if (id === AuthenticationId.Reply) return this.#reply(message, this.#of);
    if (message.length !== DHCHAP_SUCCESS2.byteLength) return this.#fail(AuthenticationFailure.IncorrectPayload);
    this.#succeed();
  }

  /**
   * The message for the host. Undefined when it does not fit `room` bytes: nothing has happened then.
   */
  async give(room: number): Promise<Uint8Array | undefined> {
    const message = await this.#next();
    if (message.length <= room) {
      this.#given();
      return message;
    }
    return undefined;
  }

  async #negotiate(message: Uint8Array): Promise<void> {
    this.#of = undefined;
    const terms = this.#terms();
    if (terms === undefined) return this.#fail(AuthenticationFailure.Failed);
    const fixed = AUTH_NEGOTIATE.read(message);
    if (fixed === undefined || message.length !== lengthOf(fixed.napd))
      return this.#fail(AuthenticationFailure.IncorrectPayload);
    if (fixed.secureChannel !== 0) return this.#fail(AuthenticationFailure.SecureChannelMismatch);
    const protocol = protocolsOf(message, fixed.napd).find(({ authid }) => authid === AUTH_PROTOCOL_DHCHAP);
    if (protocol === undefined) return this.#fail(AuthenticationFailure.ProtocolNotUsable);
    const { halen, dhlen, hashes, groups } = protocol;
    if (halen > hashes.length || dhlen > groups.length) return this.#fail(AuthenticationFailure.IncorrectPayload);
    if (!hashes.slice(0, halen).includes(terms.hash)) return this.#fail(AuthenticationFailure.HashNotUsable);
    if (!groups.slice(0, dhlen).includes(terms.group)) return this.#fail(AuthenticationFailure.GroupNotUsable);
    const { suite, hash, group, hostNqn, subNqn } = terms;
    const hashBytes = dhchapHashBytes(hash) ?? 0;
    this.#of = {
      terms,
      exchange: { hash, group, hostNqn, subNqn, transaction: this.#transaction },
      hashBytes,
      keys: group === DhchapGroup.Null ? undefined : await suite.keyPair(groupPrime(group)),
      challenge: suite.random(hashBytes),
      sequence: freshSequence(suite),
      asked: undefined,
    };
    this.failure = 0;
    this.#step = 'challenge';
  }

  async #reply(message: Uint8Array, of: Running): Promise<void> {
    const { terms, exchange, hashBytes, keys, challenge, sequence } = of;
    const reply = readReply(message);
    const { group } = exchange;
    const valueBytes = keys?.publicValue.length ?? 0;
    if (reply === undefined || reply.hl !== hashBytes || reply.dhvlen !== valueBytes)
      return this.#fail(AuthenticationFailure.IncorrectPayload);
    if (keys !== undefined && !isPublicValue(group, reply.publicValue))
      return this.#fail(AuthenticationFailure.IncorrectPayload);
    // A challenge has a number. Linux 6.12 sends one without challenge, too.
    if (reply.challenged && reply.sequence === 0) return this.#fail(AuthenticationFailure.IncorrectPayload);
    const shared = await sharedValue(group, keys, reply.publicValue);
    const right = await hostResponse(terms.suite, exchange, { value: challenge, sequence, shared }, terms.secret);
    if (!terms.suite.equal(right, reply.response)) return this.#fail(AuthenticationFailure.Failed);
    if (reply.challenged) {
      if (terms.controllerSecret === undefined) return this.#fail(AuthenticationFailure.Failed);
      of.asked = { value: reply.challenge, sequence: reply.sequence, shared };
    }
    this.#step = 'success1';
  }

  async #next(): Promise<Uint8Array> {
    const of = this.#of;
    if (of !== undefined && this.#step === 'challenge') return challengeMessage(of);
    if (of !== undefined && this.#step === 'success1') return successMessage(of);
    // Asked for out of turn: that is a failure of its own.
    if (this.failure === 0) this.#fail(AuthenticationFailure.IncorrectMessage);
    return AUTH_FAILURE.encode({
      type: AuthenticationType.Common,
      id: AuthenticationId.Failure1,
      transaction: this.#transaction,
      reason: AUTH_REASON_FAILED,
      explanation: this.failure,
    });
  }

  /** The message is on its way. */
  #given(): void {
    if (this.#step === 'challenge') this.#step = 'reply';
    else if (this.#step === 'failure1') this.#end(this.failure);
    else if (this.#step === 'success1') {
      // Who asked for a proof says with Success2 that it was one.
      if (this.#of?.asked === undefined) this.#succeed();
      else this.#step = 'success2';
    }
  }

  #succeed(): void {
    this.authenticated = true;
    this.proofs++;
    this.#of = undefined;
    this.#step = 'negotiate';
  }

  /** The host is told with the next message. */
  #fail(failure: number): void {
    this.authenticated = false;
    this.#of = undefined;
    this.failure = failure;
    this.#step = 'failure1';
  }

  #end(failure: number): void {
    this.authenticated = false;
    this.#of = undefined;
    this.failure = failure === 0 ? AuthenticationFailure.Failed : failure;
    this.#step = 'failed';
  }
}

/** An exchange that was negotiated. */
interface Running {
  readonly terms: ControllerTerms;
  readonly exchange: Exchange;
  readonly hashBytes: number;
  readonly keys: DhKeyPair | undefined;
  readonly challenge: Uint8Array;
  readonly sequence: number;
  /** The challenge of the host, once its response was right. */
  asked: Challenge | undefined;
}

/** A number for a challenge: not 0. */
export function freshSequence(suite: NvmeCrypto): number {
  const bytes = suite.random(4);
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true) || 1;
}

function challengeMessage({ exchange, hashBytes, keys, challenge, sequence }: Running): Uint8Array {
  const publicValue = keys?.publicValue ?? NOTHING;
  const fixed = DHCHAP_CHALLENGE.encode({
    type: AuthenticationType.DhHmacChap,
    id: AuthenticationId.Challenge,
    transaction: exchange.transaction,
    hl: hashBytes,
    hash: exchange.hash,
    group: exchange.group,
    dhvlen: publicValue.length,
    sequence,
  });
  return joinMessage(fixed, challenge, publicValue);
}

async function successMessage({ terms, exchange, hashBytes, asked }: Running): Promise<Uint8Array> {
  const { suite, controllerSecret } = terms;
  const proof =
    asked === undefined || controllerSecret === undefined
      ? NOTHING
      : await controllerResponse(suite, exchange, asked, controllerSecret);
  const fixed = DHCHAP_SUCCESS1.encode({
    type: AuthenticationType.DhHmacChap,
    id: AuthenticationId.Success1,
    transaction: exchange.transaction,
    hl: hashBytes,
    responds: proof.length > 0,
  });
  return joinMessage(fixed, proof);
}

function protocolsOf(message: Uint8Array, napd: number): AuthProtocol[] {
  return Array.from({ length: napd }, (_, i) =>
    AUTH_PROTOCOL.read(message, FIRST_PROTOCOL + i * PROTOCOL_BYTES),
  ).filter((protocol) => protocol !== undefined);
}

function lengthOf(napd: number): number {
  return FIRST_PROTOCOL + napd * PROTOCOL_BYTES;
}

const FIRST_PROTOCOL = AUTH_NEGOTIATE.byteLength - AUTH_PROTOCOL.byteLength;
const PROTOCOL_BYTES = AUTH_PROTOCOL.byteLength;
const EXPECTED: Readonly<Partial<Record<ControllerStep, number>>> = {
  reply: AuthenticationId.Reply,
  success2: AuthenticationId.Success2,
};
const NOTHING = new Uint8Array(0);
