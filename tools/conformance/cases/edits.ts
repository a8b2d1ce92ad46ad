/**
 * What stimuli change in a frame: single bits, lengths, IP options and extension headers, trailers, checksums, and
 * where an ICRC goes. Owns the arithmetic of frames that are wrong on purpose; says nothing of what a device must make
 * of them.
 */
import { crc32Update, ICRC_BYTES, ICRC_SEED } from 'rocev2/packets';
import { type Draft, type Edit, seal } from 'rocev2/packets/kit';
import {
  finishChecksum,
  IP_PROTOCOL_UDP,
  IPV4_BYTES,
  onesComplementSum,
  pseudoHeaderSum,
} from 'rocev2/packets/network';

/** An edit in place. */
export const edit =
  (change: (draft: Draft) => void): Edit =>
  (draft) => {
    change(draft);
    return undefined;
  };

export const versionOf = ({ ip, udp }: Draft): 4 | 6 => (udp - ip === IPV4_BYTES ? 4 : 6);

/** Inverts one bit, 0 the least, and makes the IPv4 checksum right again: nothing but the ICRC tells. */
export const flip = (at: (draft: Draft) => number, bit: number): Edit =>
  edit((draft) => {
    const offset = at(draft);
    draft.bytes[offset] = (draft.bytes[offset] ?? 0) ^ (1 << bit);
    fixIpChecksum(draft);
  });

/** Makes the checksum of an IPv4 header of 20 bytes right. */
export function fixIpChecksum(draft: Draft): void {
  const { view, ip } = draft;
  if (versionOf(draft) !== 4) return;
  view.setUint16(ip + 10, 0);
  view.setUint16(ip + 10, finishChecksum(onesComplementSum(view, ip, ip + IPV4_BYTES, 0)));
}

/** A right checksum in the UDP header, as a sender makes it that does not leave it 0. */
export const withUdpChecksum: Edit = edit((draft) => {
  const { view, bytes, ip, udp } = draft;
  view.setUint16(udp + 6, 0);
  const start = pseudoHeaderSum(view, ip, versionOf(draft), IP_PROTOCOL_UDP, bytes.length - udp);
  const sum = finishChecksum(onesComplementSum(view, udp, bytes.length, start));
  view.setUint16(udp + 6, sum === 0 ? 0xff_ff : sum);
});

/** Bytes behind the IP datagram, as a link may add. */
export const withTrailer =
  (length: number): Edit =>
  ({ bytes }) => {
    const longer = new Uint8Array(bytes.length + length).fill(0x5a);
    longer.set(bytes);
    return longer;
  };

/** Ends `length` bytes behind the beginning of the BTH; both lengths are as that has it. */
export const cutTo =
  (length: number): Edit =>
  (draft) => {
    const bytes = new Uint8Array(draft.bth + length);
    bytes.set(draft.bytes.subarray(0, bytes.length));
    const cut = { ...draft, bytes, view: new DataView(bytes.buffer) };
    setIpLength(cut, bytes.length);
    cut.view.setUint16(draft.udp + 4, bytes.length - draft.udp);
    return bytes;
  };

/** The IP header says that the datagram ends at `end`. */
export function setIpLength(draft: Draft, end: number): void {
  if (versionOf(draft) === 4) draft.view.setUint16(draft.ip + 2, end - draft.ip);
  else draft.view.setUint16(draft.ip + 4, end - draft.udp);
}

/** ICRC and IPv4 checksum are right for a packet whose ICRC begins at `icrc`. */
export const sealAt = (draft: Draft, icrc: number): void => seal({ ...draft, icrc });

/** The frame with `bytes` between its IP header and what follows; IP length and checksum are the caller's. */
export function insertBehindIp(draft: Draft, inserted: Uint8Array): Draft {
  const { bytes, ip, udp, bth, icrc } = draft;
  const longer = new Uint8Array(bytes.length + inserted.length);
  longer.set(bytes.subarray(0, udp));
  longer.set(inserted, udp);
  longer.set(bytes.subarray(udp), udp + inserted.length);
  const by = inserted.length;
  return { bytes: longer, view: new DataView(longer.buffer), ip, udp: udp + by, bth: bth + by, icrc: icrc + by };
}

/** Bytes from `start` to before `end`. */
export type ByteRange = readonly [start: number, end: number];

/**
 * An ICRC that begins at `icrc`, over parts of the frame, with ones where `masked` says. For headers that the recipe of
 * the annex does not foresee, of which implementations make different things.
 */
export function icrcOver(
  bytes: Uint8Array,
  parts: readonly ByteRange[],
  masked: readonly number[],
  icrc: number,
): void {
  const copy = bytes.slice();
  for (const at of masked) copy[at] = 0xff;
  const state = parts.reduce((crc, [start, end]) => crc32Update(crc, copy, start, end), ICRC_SEED);
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).setUint32(icrc, ~state >>> 0, true);
}

/** Offset of the ICRC of a frame that ends with it. */
export const icrcOf = (bytes: Uint8Array): number => bytes.length - ICRC_BYTES;
