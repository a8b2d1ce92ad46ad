/** What the codec tests share: arbitraries of every message, and the two ways of going through the wire. */
import fc from 'fast-check';
import { IpAddress } from '../../../packets/address.ts';
import { type CmKind, type CmMessage, type CmPath, readCmMessage, writeCmMad } from '../../../packets/cm/index.ts';
import { MAD_BYTES } from '../../../packets/mad.ts';

const uint = (bits: number) => fc.integer({ min: 0, max: 2 ** bits - 1 });
const u64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });
const bit = fc.constantFrom<0 | 1>(0, 1);
const area = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const ids = { localCommId: uint(32), remoteCommId: uint(32) };

const gid = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => IpAddress.fromGid(new DataView(bytes.buffer, bytes.byteOffset), 0));
const ipv4 = uint(32).map((word) => {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, word);
  return IpAddress.read(view, 0, 4);
});
export const arbitraryAddress = fc.oneof(gid, ipv4);
export const arbitraryIpv4 = ipv4;

export const arbitraryPath: fc.Arbitrary<CmPath> = fc.record({
  localLid: uint(16),
  remoteLid: uint(16),
  localGid: arbitraryAddress,
  remoteGid: arbitraryAddress,
  flowLabel: uint(20),
  packetRate: uint(6),
  trafficClass: uint(8),
  hopLimit: uint(8),
  serviceLevel: uint(4),
  subnetLocal: bit,
  localAckTimeout: uint(5),
});

/** Bodies of every kind, with all values their fields can hold. */
const BODIES: { readonly [K in CmKind]: fc.Arbitrary<Extract<CmMessage, { kind: K }>['body']> } = {
  REQ: fc.record({
    localCommId: uint(32),
    vendorId: uint(24),
    serviceId: u64,
    localCaGuid: u64,
    localQkey: uint(32),
    localQpn: uint(24),
    responderResources: uint(8),
    localEecn: uint(24),
    initiatorDepth: uint(8),
    remoteEecn: uint(24),
    remoteCmResponseTimeout: uint(5),
    transportServiceType: uint(2),
    endToEndFlowControl: bit,
    startingPsn: uint(24),
    localCmResponseTimeout: uint(5),
    retryCount: uint(3),
    partitionKey: uint(16),
    pathMtu: uint(4),
    rdcExists: bit,
    rnrRetryCount: uint(3),
    maxCmRetries: uint(4),
    srq: bit,
    extendedTransportType: uint(3),
    primaryPath: arbitraryPath,
    alternatePath: arbitraryPath,
    sapSupported: bit,
    privateData: area(92),
  }),
  MRA: fc.record({ ...ids, messageMraed: uint(2), serviceTimeout: uint(5), privateData: area(222) }),
  REJ: fc.record({
    ...ids,
    messageRejected: uint(2),
    infoLength: uint(7),
    reason: uint(16),
    info: area(72),
    privateData: area(148),
  }),
  REP: fc.record({
    ...ids,
    localQkey: uint(32),
    localQpn: uint(24),
    localEecn: uint(24),
    startingPsn: uint(24),
    vendorId: uint(24),
    responderResources: uint(8),
    initiatorDepth: uint(8),
    targetAckDelay: uint(5),
    failoverAccepted: uint(2),
    endToEndFlowControl: bit,
    rnrRetryCount: uint(3),
    srq: bit,
    localCaGuid: u64,
    privateData: area(196),
  }),
  RTU: fc.record({ ...ids, privateData: area(224) }),
  DREQ: fc.record({ ...ids, remoteQpn: uint(24), privateData: area(220) }),
  DREP: fc.record({ ...ids, privateData: area(224) }),
  SIDR_REQ: fc.record({ requestId: uint(32), partitionKey: uint(16), serviceId: u64, privateData: area(216) }),
  SIDR_REP: fc.record({
    requestId: uint(32),
    status: uint(8),
    infoLength: uint(8),
    vendorId: uint(24),
    qpn: uint(24),
    serviceId: u64,
    qkey: uint(32),
    info: area(72),
    privateData: area(136),
  }),
  LAP: fc.record({
    ...ids,
    remoteQpn: uint(24),
    remoteCmResponseTimeout: uint(5),
    alternatePath: arbitraryPath,
    privateData: area(168),
  }),
  APR: fc.record({ ...ids, infoLength: uint(8), status: uint(8), info: area(72), privateData: area(148) }),
};

export const CM_KINDS = Object.keys(BODIES) as readonly CmKind[];

export function arbitraryMessage(kind: CmKind): fc.Arbitrary<CmMessage> {
  return BODIES[kind].map((body) => ({ kind, body }) as CmMessage);
}

/**
 * Writes a message at an odd offset of a buffer full of 0xa5; gives the 256 bytes and checks that nothing else was
 * touched.
 */
export function encode(message: CmMessage): Uint8Array {
  const buffer = new Uint8Array(MAD_BYTES + 14).fill(0xa5);
  writeCmMad(new DataView(buffer.buffer), 7, 0x0102_0304_0506_0708n, message);
  const outside = [...buffer.subarray(0, 7), ...buffer.subarray(7 + MAD_BYTES)];
  if (outside.some((byte) => byte !== 0xa5)) throw new Error('the writer wrote outside the MAD');
  return buffer.slice(7, 7 + MAD_BYTES);
}

/** Reads a message at an odd offset. */
export function decode(bytes: Uint8Array, kind: CmKind): CmMessage {
  const buffer = new Uint8Array(MAD_BYTES + 3);
  buffer.set(bytes, 3);
  return readCmMessage(new DataView(buffer.buffer), 3, kind);
}

/** The round trip of records, and the idempotence of decoding: what any bytes mean survives being written again. */
export function checkRoundTrip(kind: CmKind, equal: (actual: unknown, expected: unknown) => void): void {
  fc.assert(
    fc.property(arbitraryMessage(kind), (message) => {
      equal(decode(encode(message), kind), message);
    }),
  );
  fc.assert(
    fc.property(fc.uint8Array({ minLength: MAD_BYTES, maxLength: MAD_BYTES }), (bytes) => {
      const meaning = decode(bytes, kind);
      equal(decode(encode(meaning), kind), meaning);
    }),
  );
}

/** Bytes of a vector: hex with the zeros at the end left out. */
export function madBytes(hex: string): Uint8Array {
  const bytes = new Uint8Array(MAD_BYTES);
  for (let i = 0; i < hex.length / 2; i++) bytes[i] = Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}

export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
