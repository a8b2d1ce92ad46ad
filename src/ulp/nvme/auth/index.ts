/** In-band authentication, DH-HMAC-CHAP: secrets, and what it needs of cryptography. Owns nothing but this list. */

export { DhchapSecret, formatDhchapSecret } from './secret.ts';
export type { DhKeyPair, NowOrLater, NvmeCrypto } from './suite.ts';
