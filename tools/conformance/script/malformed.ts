/**
 * What is wrong on purpose with a packet of a ladder, below its BTH: cut short, another UDP length, IP options, the
 * ICRC that rdma_rxe has for a FLUSH. Owns the words' meaning in bytes; the ladder says how a device must react.
 */
import { computeIcrc, OPCODE_HEADER_BYTES, Op, rxeFlushIcrc } from 'rocev2/packets';
import type { Draft, Edit, Packet } from 'rocev2/packets/kit';
import { cutTo, edit, fixIpChecksum, flip, insertBehindIp, versionOf } from '../cases/edits.ts';
import { Inconclusive } from '../tester/outcome.ts';
import type { ScriptPacket } from './steps.ts';

/** How its frame is changed: what stands in `cut`, `udpLength`, `ipOptions`, `badIcrc` and `rxeIcrc`, and in words. */
export function malformation(packet: Partial<ScriptPacket>): Pick<Packet, 'edit' | 'spoil' | 'note'> {
  const { cut, udpLength, ipOptions, badIcrc, rxeIcrc } = packet;
  const notes: string[] = [];
  const edits: Edit[] = [];
  const spoils: Edit[] = [];
  if (cut !== undefined) {
    notes.push(`${cut} bytes behind the UDP header`);
    edits.push(cutTo(cut));
  }
  if (udpLength !== undefined) {
    notes.push(`UDP length ${udpLength}`);
    edits.push(edit((draft) => draft.view.setUint16(draft.udp + 4, udpLength)));
  }
  if (ipOptions !== undefined) {
    notes.push(`${ipOptions} bytes of IP options`);
    spoils.push(withOptions(ipOptions));
  }
  if (badIcrc === true) {
    notes.push('ICRC wrong');
    spoils.push(flip(({ icrc }) => icrc, 0));
  }
  if (rxeIcrc === true) {
    notes.push('ICRC as rdma_rxe has it');
    spoils.push(rxeFlush);
  }
  return {
    ...(edits.length === 0 ? {} : { edit: one(edits) }),
    ...(spoils.length === 0 ? {} : { spoil: one(spoils) }),
    ...(notes.length === 0 ? {} : { note: notes.join(', ') }),
  };
}

/** One edit after the other. */
const one =
  (edits: readonly Edit[]): Edit =>
  (draft) => {
    let now = draft;
    for (const change of edits) {
      const bytes = change(now) ?? now.bytes;
      now = { ...now, bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength) };
    }
    return now.bytes;
  };

/** `length` bytes of NO OPERATION behind the IPv4 header. The ICRC stays that of the packet without them. */
const withOptions =
  (length: number): Edit =>
  (draft) => {
    if (versionOf(draft) !== 4) throw new Inconclusive('IP options are of IPv4: connect with version 4');
    const longer = insertBehindIp(draft, new Uint8Array(length).fill(NO_OPERATION));
    const { bytes, view, ip } = longer;
    view.setUint8(ip, 0x40 | ((IPV4_BYTES + length) >> 2));
    view.setUint16(ip + 2, bytes.length - ip);
    sealHeader(longer, IPV4_BYTES + length);
    return bytes;
  };

/** The checksum of an IPv4 header of this length. */
function sealHeader(draft: Draft, length: number): void {
  const { view, ip } = draft;
  // A whole header of 20 bytes sums up as before; what was added has to be taken off its checksum.
  fixIpChecksum({ ...draft, udp: ip + IPV4_BYTES });
  let sum = ~view.getUint16(ip + 10) & 0xff_ff;
  for (let at = IPV4_BYTES; at < length; at += 2) sum += view.getUint16(ip + at);
  while (sum > 0xff_ff) sum = (sum & 0xff_ff) + (sum >>> 16);
  view.setUint16(ip + 10, ~sum & 0xff_ff);
}

/** The first time its headers only, the second time all that there is. */
const rxeFlush = edit(({ bytes, view, ip, udp, bth, icrc }) => {
  const headers = bth + 12 + (OPCODE_HEADER_BYTES[Op.Flush] ?? 0);
  const once = computeIcrc(bytes, view, ip, udp - ip === IPV4_BYTES ? 4 : 6, bth, headers);
  view.setUint32(icrc, rxeFlushIcrc(once, bytes, bth, icrc), true);
});

const IPV4_BYTES = 20;
const NO_OPERATION = 1;
