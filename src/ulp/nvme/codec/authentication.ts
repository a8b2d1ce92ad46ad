/**
 * Messages of in-band authentication: what Authentication Send and Receive carry, for DH-HMAC-CHAP.
 *
 *   host        AUTH_Negotiate ->            <- DH-HMAC-CHAP_Challenge       controller
 *               DH-HMAC-CHAP_Reply ->        <- DH-HMAC-CHAP_Success1
 *               DH-HMAC-CHAP_Success2 ->     where the controller was asked to prove itself as well
 *
 * In place of any of its messages the controller sends AUTH_Failure1, and the host AUTH_Failure2.
 *
 * Owns the layouts, and which lengths go together. Reading never throws. Rules: ref:nvmeof#5.
 */
import { flag, list, part, structure, u8, u16, u32, type ValuesOf } from './structure.ts';

/** The first byte of a message: whose messages these are. */
export const AuthenticationType = {
  /** Of all protocols: AUTH_Negotiate, AUTH_Failure1, AUTH_Failure2. */
  Common: 0x00,
  /** Of DH-HMAC-CHAP. */
  DhHmacChap: 0x01,
} as const;

/** The second byte of a message: which of them it is. */
export const AuthenticationId = {
  /** AUTH_Negotiate, common. */
  Negotiate: 0x00,
  /** DH-HMAC-CHAP_Challenge. */
  Challenge: 0x01,
  /** DH-HMAC-CHAP_Reply. */
  Reply: 0x02,
  /** DH-HMAC-CHAP_Success1. */
  Success1: 0x03,
  /** DH-HMAC-CHAP_Success2. */
  Success2: 0x04,
  /** AUTH_Failure2, common: the host ends it. */
  Failure2: 0xf0,
  /** AUTH_Failure1, common: the controller ends it. */
  Failure1: 0xf1,
} as const;

/** Hash functions, of challenges and of the transform of a secret. */
export const DhchapHash = {
  /** 32 bytes. */
  Sha256: 1,
  /** 48 bytes. */
  Sha384: 2,
  /** 64 bytes. */
  Sha512: 3,
} as const;

/** Diffie-Hellman groups, those of RFC 7919. */
export const DhchapGroup = {
  /** None: the challenge alone. */
  Null: 0,
  /** 2048 bits. */
  Ffdhe2048: 1,
  /** 3072 bits. */
  Ffdhe3072: 2,
  /** 4096 bits. */
  Ffdhe4096: 3,
  /** 6144 bits. */
  Ffdhe6144: 4,
  /** 8192 bits. */
  Ffdhe8192: 5,
} as const;

/** Why an authentication failed: `explanation` of `AUTH_FAILURE`. */
export const AuthenticationFailure = {
  /** The response is not the one that the secret gives, or another reason that is not told. */
  Failed: 0x01,
  /** None of the protocols of the host is usable. */
  ProtocolNotUsable: 0x02,
  /** A secure channel was asked for, and there is none. */
  SecureChannelMismatch: 0x03,
  /** None of the hash functions is usable. */
  HashNotUsable: 0x04,
  /** None of the groups is usable. */
  GroupNotUsable: 0x05,
  /** The message has another form, length or transaction than it must have. */
  IncorrectPayload: 0x06,
  /** Not the message that comes now. */
  IncorrectMessage: 0x07,
} as const;

/** What every message begins with. */
export const AUTH_HEADER = structure('message of authentication', 6, {
  /** One of `AuthenticationType`. */
  type: u8(0),
  /** One of `AuthenticationId`. */
  id: u8(1),
  /** The transaction: chosen by the host in AUTH_Negotiate. */
  transaction: u16(4),
});
/** Values of `AUTH_HEADER`. */
export type AuthHeader = ValuesOf<typeof AUTH_HEADER>;

/** What a host can do of one protocol, within AUTH_Negotiate. */
export const AUTH_PROTOCOL = structure('protocol of AUTH_Negotiate', 64, {
  /** The protocol: 1 is DH-HMAC-CHAP. */
  authid: u8(0),
  /** How many hash functions it names, 0..30. */
  halen: u8(2),
  /** How many groups it names, 0..30. */
  dhlen: u8(3),
  /** Hash functions, of `DhchapHash`, best first. */
  hashes: list(4, 30, 1, u8),
  /** Groups, of `DhchapGroup`, best first. */
  groups: list(34, 30, 1, u8),
});
/** Values of `AUTH_PROTOCOL`. */
export type AuthProtocol = ValuesOf<typeof AUTH_PROTOCOL>;

/** AUTH_Negotiate of one protocol; further ones of 64 bytes may follow. */
export const AUTH_NEGOTIATE = structure('AUTH_Negotiate', 72, {
  /** `AuthenticationType.Common`. */
  type: u8(0),
  /** `AuthenticationId.Negotiate`. */
  id: u8(1),
  /** The transaction. */
  transaction: u16(4),
  /** Secure channel: 0 none is asked for. */
  secureChannel: u8(6),
  /** How many protocols there are. */
  napd: u8(7),
  /** The first. */
  protocol: part(8, AUTH_PROTOCOL),
});
/** Values of `AUTH_NEGOTIATE`. */
export type AuthNegotiate = ValuesOf<typeof AUTH_NEGOTIATE>;

/** DH-HMAC-CHAP_Challenge; `hl` bytes of challenge and `dhvlen` bytes of the group follow. */
export const DHCHAP_CHALLENGE = structure('DH-HMAC-CHAP_Challenge', 16, {
  /** `AuthenticationType.DhHmacChap`. */
  type: u8(0),
  /** `AuthenticationId.Challenge`. */
  id: u8(1),
  /** The transaction. */
  transaction: u16(4),
  /** Bytes of the hash function. */
  hl: u8(6),
  /** The hash function: one of `DhchapHash`. */
  hash: u8(8),
  /** The group: one of `DhchapGroup`. */
  group: u8(9),
  /** Bytes of the public value; 0 without group. */
  dhvlen: u16(10),
  /** Sequence number, part of the response; not 0. */
  sequence: u32(12),
});
/** Values of `DHCHAP_CHALLENGE`. */
export type DhchapChallenge = ValuesOf<typeof DHCHAP_CHALLENGE>;

/** DH-HMAC-CHAP_Reply; `hl` bytes of response, `hl` bytes of challenge and `dhvlen` bytes of the group follow. */
export const DHCHAP_REPLY = structure('DH-HMAC-CHAP_Reply', 16, {
  /** `AuthenticationType.DhHmacChap`. */
  type: u8(0),
  /** `AuthenticationId.Reply`. */
  id: u8(1),
  /** The transaction. */
  transaction: u16(4),
  /** Bytes of the hash function. */
  hl: u8(6),
  /** Whether the challenge in it is one: the controller has to prove itself. */
  challenged: flag(64),
  /** Bytes of the public value; 0 without group. */
  dhvlen: u16(10),
  /** Sequence number of the host's challenge; 0 without. */
  sequence: u32(12),
});
/** Values of `DHCHAP_REPLY`. */
export type DhchapReply = ValuesOf<typeof DHCHAP_REPLY>;

/** DH-HMAC-CHAP_Success1; `hl` bytes of response follow where there is one. */
export const DHCHAP_SUCCESS1 = structure('DH-HMAC-CHAP_Success1', 16, {
  /** `AuthenticationType.DhHmacChap`. */
  type: u8(0),
  /** `AuthenticationId.Success1`. */
  id: u8(1),
  /** The transaction. */
  transaction: u16(4),
  /** Bytes of the hash function. */
  hl: u8(6),
  /** Whether a response follows. */
  responds: flag(64),
});
/** Values of `DHCHAP_SUCCESS1`. */
export type DhchapSuccess1 = ValuesOf<typeof DHCHAP_SUCCESS1>;

/** DH-HMAC-CHAP_Success2. */
export const DHCHAP_SUCCESS2 = structure('DH-HMAC-CHAP_Success2', 16, {
  /** `AuthenticationType.DhHmacChap`. */
  type: u8(0),
  /** `AuthenticationId.Success2`. */
  id: u8(1),
  /** The transaction. */
  transaction: u16(4),
});
/** Values of `DHCHAP_SUCCESS2`. */
export type DhchapSuccess2 = ValuesOf<typeof DHCHAP_SUCCESS2>;

/** AUTH_Failure1 and AUTH_Failure2. */
export const AUTH_FAILURE = structure('AUTH_Failure', 8, {
  /** `AuthenticationType.Common`. */
  type: u8(0),
  /** `AuthenticationId.Failure1` or `Failure2`. */
  id: u8(1),
  /** The transaction. */
  transaction: u16(4),
  /** 1: authentication failed. */
  reason: u8(6),
  /** One of `AuthenticationFailure`. */
  explanation: u8(7),
});
/** Values of `AUTH_FAILURE`. */
export type AuthFailure = ValuesOf<typeof AUTH_FAILURE>;

/** Bytes of a hash function; undefined for a number that is none. */
export function dhchapHashBytes(hash: number): number | undefined {
  return HASH_BYTES[hash];
}

/** Bytes of a public value, 0 for the null group; undefined for a number that is no group. */
export function dhchapGroupBytes(group: number): number | undefined {
  return GROUP_BYTES[group];
}

/** What a hash function is called: sha256; one that is not known by its number. */
export function dhchapHashName(hash: number): string {
  return HASH_NAMES[hash] ?? `hash ${hash}`;
}

/** What a group is called: null, ffdhe2048; one that is not known by its number. */
export function dhchapGroupName(group: number): string {
  return GROUP_NAMES[group] ?? `group ${group}`;
}

/** The number of a name, as `dhchapHashName` gives it; undefined for another. */
export function dhchapHashNamed(name: string): number | undefined {
  return numberOf(HASH_NAMES, name);
}

/** The number of a name, as `dhchapGroupName` gives it; undefined for another. */
export function dhchapGroupNamed(name: string): number | undefined {
  return numberOf(GROUP_NAMES, name);
}

/** Why an authentication failed, in words. */
export function authenticationFailureName(explanation: number): string {
  return FAILURE_NAMES[explanation] ?? `reason ${explanation}`;
}

/** A message and what follows its fixed part: the parts one after the other. */
export function joinMessage(...parts: readonly Uint8Array[]): Uint8Array {
  const message = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of parts) {
    message.set(piece, at);
    at += piece.length;
  }
  return message;
}

/** A message whose parts have the lengths that it says. */
export interface ReadChallenge extends DhchapChallenge {
  /** `hl` bytes. */
  readonly challenge: Uint8Array;
  /** `dhvlen` bytes. */
  readonly publicValue: Uint8Array;
}

/** Reads DH-HMAC-CHAP_Challenge; undefined when it ends before its parts do. What is behind them is not looked at. */
export function readChallenge(message: Uint8Array): ReadChallenge | undefined {
  const fixed = DHCHAP_CHALLENGE.read(message);
  if (fixed === undefined) return undefined;
  const values = message.slice(DHCHAP_CHALLENGE.byteLength);
  if (values.length < fixed.hl + fixed.dhvlen) return undefined;
  return {
    ...fixed,
    challenge: values.subarray(0, fixed.hl),
    publicValue: values.subarray(fixed.hl, fixed.hl + fixed.dhvlen),
  };
}

/** A message whose parts have the lengths that it says. */
export interface ReadReply extends DhchapReply {
  /** `hl` bytes. */
  readonly response: Uint8Array;
  /** `hl` bytes; zeros where the host asks nothing. */
  readonly challenge: Uint8Array;
  /** `dhvlen` bytes. */
  readonly publicValue: Uint8Array;
}

/** Reads DH-HMAC-CHAP_Reply; undefined when it is not exactly as long as it says. */
export function readReply(message: Uint8Array): ReadReply | undefined {
  const fixed = DHCHAP_REPLY.read(message);
  if (fixed === undefined) return undefined;
  const { hl, dhvlen } = fixed;
  const values = message.slice(DHCHAP_REPLY.byteLength);
  if (values.length !== 2 * hl + dhvlen) return undefined;
  return {
    ...fixed,
    response: values.subarray(0, hl),
    challenge: values.subarray(hl, 2 * hl),
    publicValue: values.subarray(2 * hl),
  };
}

/** A message whose response has the length that it says. */
export interface ReadSuccess1 extends DhchapSuccess1 {
  /** `hl` bytes; empty where there is no response. */
  readonly response: Uint8Array;
}

/** Reads DH-HMAC-CHAP_Success1; undefined when it ends before its response does. */
export function readSuccess1(message: Uint8Array): ReadSuccess1 | undefined {
  const fixed = DHCHAP_SUCCESS1.read(message);
  if (fixed === undefined) return undefined;
  const length = fixed.responds ? fixed.hl : 0;
  const values = message.slice(DHCHAP_SUCCESS1.byteLength);
  return values.length < length ? undefined : { ...fixed, response: values.subarray(0, length) };
}

function numberOf(names: Readonly<Record<number, string>>, name: string): number | undefined {
  const found = Object.entries(names).find(([, known]) => known === name);
  return found === undefined ? undefined : Number(found[0]);
}

/** `authid` of DH-HMAC-CHAP. */
export const AUTH_PROTOCOL_DHCHAP = 1;
/** `reason` of a failure: the only one there is. */
export const AUTH_REASON_FAILED = 1;
/** Bytes that Authentication Send or Receive moves at most; Linux offers 4096. */
export const AUTH_MAX_BYTES = 16_384;

const HASH_NAMES: Readonly<Record<number, string>> = { 1: 'sha256', 2: 'sha384', 3: 'sha512' };
const HASH_BYTES: Readonly<Record<number, number>> = { 1: 32, 2: 48, 3: 64 };
const GROUP_NAMES: Readonly<Record<number, string>> = {
  0: 'null',
  1: 'ffdhe2048',
  2: 'ffdhe3072',
  3: 'ffdhe4096',
  4: 'ffdhe6144',
  5: 'ffdhe8192',
};
const GROUP_BYTES: Readonly<Record<number, number>> = { 0: 0, 1: 256, 2: 384, 3: 512, 4: 768, 5: 1024 };
const FAILURE_NAMES: Readonly<Record<number, string>> = {
  1: 'authentication failed',
  2: 'protocol not usable',
  3: 'secure channel concatenation mismatch',
  4: 'hash function not usable',
  5: 'DH group not usable',
  6: 'incorrect payload',
  7: 'incorrect protocol message',
};
