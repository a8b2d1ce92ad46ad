// Frames to records and back, with the project's own codecs only: what captures.test.ts checks against real bytes.

import { readAeth, writeAeth } from '../../packets/aeth.ts';
import { readArp, writeArp } from '../../packets/arp.ts';
import { readAtomicAckEth, writeAtomicAckEth } from '../../packets/atomic-ack-eth.ts';
import { readAtomicEth, writeAtomicEth } from '../../packets/atomic-eth.ts';
import { readBth, writeBth, writeBthCongestion } from '../../packets/bth.ts';
import { parseCmMad, writeCmMessage } from '../../packets/cm/index.ts';
import { readDeth, writeDeth } from '../../packets/deth.ts';
import { ETHERNET_BYTES, ETHERTYPE_ARP, readEthernet, writeEthernet } from '../../packets/ethernet.ts';
import { Frame, FrameStatus, Medium, parseFrame } from '../../packets/frame.ts';
import { isMad } from '../../packets/frame-fields.ts';
import { computeIcrc } from '../../packets/icrc.ts';
import { readIeth, writeIeth } from '../../packets/ieth.ts';
import { readImmDt, writeImmDt } from '../../packets/imm-dt.ts';
import { readIpv4, writeIpv4 } from '../../packets/ipv4.ts';
import { readIpv6, writeIpv6 } from '../../packets/ipv6.ts';
import { writeMadHeader } from '../../packets/mad.ts';
import { HEADER_BYTES, type HeaderName, opcodeInfo } from '../../packets/opcode.ts';
import { readReth, writeReth } from '../../packets/reth.ts';
import { readUdp, writeUdp } from '../../packets/udp.ts';

export interface DecodedFrame {
  readonly frame: Frame;
  readonly status: FrameStatus;
}

export function decodeFrame(bytes: Uint8Array): DecodedFrame {
  const frame = new Frame();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return { frame, status: parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame) };
}

/**
 * The frame again: each header this project knows from its record, payload copied, pad zero, ICRC computed. Starts from
 * bytes that are not zero, so that whatever a writer leaves out differs.
 */
export function reencodeFrame({ frame, status }: DecodedFrame): Uint8Array {
  const out = new Uint8Array(frame.end - frame.start).fill(0xa5);
  const view = new DataView(out.buffer);
  const { destMac, sourceMac, etherType } = readEthernet(frame.view, 0);
  writeEthernet(view, 0, destMac, sourceMac, etherType);
  let at = ETHERNET_BYTES;
  if (frame.ipVersion === 4) {
    writeIpv4(view, at, readIpv4(frame.view, at));
    at = frame.l4Offset;
  } else if (frame.ipVersion === 6) {
    writeIpv6(view, at, readIpv6(frame.view, at));
    at = frame.l4Offset;
  } else if (etherType === ETHERTYPE_ARP) {
    const arp = readArp(frame.view, at, frame.end);
    if (arp !== undefined) at += writeArp(view, at, arp);
  }
  if (status === FrameStatus.Ok) at = reencodeRoce(frame, out, view);
  out.set(frame.bytes.subarray(at, frame.end), at);
  return out;
}

/** Writes UDP up to and including the ICRC; returns its end. */
function reencodeRoce(frame: Frame, out: Uint8Array, view: DataView): number {
  const udp = readUdp(frame.view, frame.l4Offset);
  writeUdp(view, frame.l4Offset, udp.sourcePort, udp.destPort, udp.length, udp.checksum);
  const at = frame.bthOffset;
  const bth = readBth(frame.view, at);
  writeBth(view, at, bth.opcode, bth.solicited, bth.migReq, bth.padCount, bth.pkey, bth.destQpn, bth.ackReq, bth.psn);
  writeBthCongestion(view, at, bth.fecn, bth.becn);
  reencodeExtendedHeaders(frame, view);
  const { payloadOffset, payloadLength, icrcOffset } = frame;
  if (!reencodeMad(frame, view)) {
    out.set(frame.bytes.subarray(payloadOffset, payloadOffset + payloadLength), payloadOffset);
  }
  out.fill(0, payloadOffset + payloadLength, icrcOffset);
  const icrc = computeIcrc(out, view, frame.ipOffset, frame.ipVersion, at, icrcOffset);
  view.setUint32(icrcOffset, icrc, true);
  return icrcOffset + 4;
}

const REENCODERS: Partial<Record<HeaderName, (from: DataView, to: DataView, at: number) => void>> = {
  DETH: (from, to, at) => {
    const { qkey, sourceQpn } = readDeth(from, at);
    writeDeth(to, at, qkey, sourceQpn);
  },
  RETH: (from, to, at) => {
    const { va, rkey, dmaLength } = readReth(from, at);
    writeReth(to, at, high(va), low(va), rkey, dmaLength);
  },
  AETH: (from, to, at) => {
    const { syndrome, msn } = readAeth(from, at);
    writeAeth(to, at, syndrome, msn);
  },
  AtomicETH: (from, to, at) => {
    const { va, rkey, swapAdd, compare } = readAtomicEth(from, at);
    writeAtomicEth(to, at, high(va), low(va), rkey, high(swapAdd), low(swapAdd), high(compare), low(compare));
  },
  AtomicAckETH: (from, to, at) => {
    const { original } = readAtomicAckEth(from, at);
    writeAtomicAckEth(to, at, high(original), low(original));
  },
  ImmDt: (from, to, at) => writeImmDt(to, at, readImmDt(from, at).immDt),
  IETH: (from, to, at) => writeIeth(to, at, readIeth(from, at).rkey),
};

function reencodeExtendedHeaders(frame: Frame, view: DataView): void {
  const { headers, headerBytes } = opcodeInfo(frame.opcode);
  let at = frame.payloadOffset - headerBytes;
  for (const header of headers) {
    // A header without an entry stays 0xa5 and the comparison fails: none can be forgotten.
    REENCODERS[header]?.(frame.view, view, at);
    at += HEADER_BYTES[header];
  }
}

function reencodeMad(frame: Frame, view: DataView): boolean {
  if (!isMad(frame)) return false;
  const mad = parseCmMad(frame.view, frame.payloadOffset, frame.payloadLength);
  if (typeof mad !== 'object') return false;
  writeMadHeader(view, frame.payloadOffset, mad.header);
  writeCmMessage(view, frame.payloadOffset, mad.message);
  return true;
}

function high(value: bigint): number {
  return Number(value >> 32n);
}

function low(value: bigint): number {
  return Number(value & 0xffff_ffffn);
}
