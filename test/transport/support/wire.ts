/**
 * Between packet values and frames: builds real frames with FrameWriter and the codecs, takes frames apart again, and
 * checks on every frame of the subject what must hold of all (ref:conformance#LEN-14, ACK-20).
 */
import { expect } from 'vitest';
import { IpAddress } from '../../../packets/address.ts';
import { BTH_BYTES, writeBth, writeBthCongestion } from '../../../packets/bth.ts';
import { Frame, FrameStatus, frameDestinationIs, frameSourceIs, Medium, parseFrame } from '../../../packets/frame.ts';
import { FrameWriter } from '../../../packets/frame-writer.ts';
import { HeaderTemplate } from '../../../packets/header-template.ts';
import { computeIcrc, ICRC_BYTES, icrcMatches } from '../../../packets/icrc.ts';
import { IPV4_BYTES } from '../../../packets/ipv4.ts';
import { writeHeaders } from '../../../packets/kit/build.ts';
import { packetOf } from '../../../packets/kit/sighting.ts';
import { OPCODE_HEADER_BYTES, Op } from '../../../packets/opcode.ts';
import { PSN_MASK, psnDiff } from '../../../packets/psn.ts';
import { isRxeFlush } from '../../../packets/rxe-flush-icrc.ts';
import { UDP_BYTES } from '../../../packets/udp.ts';
import type { QpConfig } from '../../../transport/qp-config.ts';
import type { Packet } from './packets.ts';

export const SUBJECT_IP = IpAddress.parse('192.0.2.1');
export const PEER_IP = IpAddress.parse('192.0.2.2');
export const SUBJECT_QPN = 0x11;
export const PEER_QPN = 0x22;

/**
 * Largest frame: IPv4, UDP, BTH, the longest headers, 4096 bytes and a little to spare for frames that are too long.
 */
export const SLOT_BYTES = 4608;

export function pathTemplate(source: IpAddress, destination: IpAddress, sourcePort = 0xc0_01): HeaderTemplate {
  const mac = new Uint8Array(6);
  return new HeaderTemplate({
    medium: Medium.Ip,
    sourceMac: mac,
    destMac: mac,
    source,
    destination,
    trafficClass: 0,
    hopLimit: 64,
    flowLabel: 0,
    sourcePort,
  });
}

const toSubject = pathTemplate(PEER_IP, SUBJECT_IP);
const stimulusWriter = new FrameWriter(1, 3 * SLOT_BYTES);

/**
 * The bytes of `packet` as the peer sends it, from the IP header to the ICRC. `firstPsn` is what its PSN counts from.
 */
export function buildFrame(packet: Packet, firstPsn: number, destQpn = SUBJECT_QPN): Uint8Array {
  const { payload = new Uint8Array(0), source, sourcePort } = packet;
  const foreign = source !== undefined || sourcePort !== undefined;
  const template = foreign
    ? pathTemplate(source === undefined ? PEER_IP : IpAddress.parse(source), SUBJECT_IP, sourcePort)
    : toSubject;
  const writer = stimulusWriter;
  writer.reset();
  const bth = writer.begin(template);
  const pad = packet.pad ?? -payload.length & 3;
  const { opcode, solicited, migReq = 1, pkey = 0xff_ff, ackReq } = packet;
  const psn = (firstPsn + packet.psn) & PSN_MASK;
  writeBth(writer.view, bth, opcode, solicited ? 1 : 0, migReq, pad, pkey, destQpn, ackReq ? 1 : 0, psn);
  writeHeaders(writer.view, bth, packet);
  const at = bth + BTH_BYTES + (OPCODE_HEADER_BYTES[opcode] ?? 0);
  writer.bytes.set(payload, at);
  writer.bytes.fill(0, at + payload.length, at + payload.length + pad);
  if (packet.becn === 1) writeBthCongestion(writer.view, bth, 0, 1);
  writer.end(template, at + payload.length + pad, packet.trafficClass ?? 0);
  const start = writer.starts[0] ?? 0;
  return writer.bytes.slice(start, start + (writer.lengths[0] ?? 0));
}

/** A copy with `change` applied to it and an ICRC that is right again: what an attacker who knows the recipe sends. */
export function forge(bytes: Uint8Array, change: (view: DataView, bth: number) => void): Uint8Array {
  const copy = bytes.slice();
  const view = new DataView(copy.buffer);
  const bth = IPV4_BYTES + UDP_BYTES;
  change(view, bth);
  const icrcOffset = copy.length - ICRC_BYTES;
  view.setUint32(icrcOffset, computeIcrc(copy, view, 0, 4, bth, icrcOffset), true);
  return copy;
}

/** Parses whatever a link may bring; the ICRC is judged only when the rest is well. */
export function parseBytes(
  bytes: Uint8Array,
  frame = new Frame(),
): { frame: Frame; status: FrameStatus; icrc: boolean } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const status = parseFrame(bytes, view, 0, bytes.length, Medium.Ip, frame);
  const shaped = status === FrameStatus.Ok || status === FrameStatus.UnknownOpcode;
  return { frame, status, icrc: shaped && (icrcMatches(frame) || isRxeFlush(frame)) };
}

/** Takes one frame of the subject apart, after checking what holds of every frame it may send. */
export function readFrame(
  bytes: Uint8Array,
  firstPsn: number,
  config: Pick<QpConfig, 'pkey' | 'migReq' | 'congestion'> = { pkey: 0xff_ff, migReq: 1, congestion: undefined },
  remote = PEER_IP,
): Packet {
  const { frame, status, icrc } = parseBytes(bytes);
  expect(status).toBe(FrameStatus.Ok);
  expect(icrc).toBe(true);
  expect(frameSourceIs(frame, SUBJECT_IP) && frameDestinationIs(frame, remote)).toBe(true);
  expect(frame.destQpn).toBe(PEER_QPN);
  expect(frame.pkey).toBe(config.pkey);
  expect(frame.migReq).toBe(config.migReq);
  const echoes = config.congestion?.notification?.parameters.signal === 'ack' && frame.opcode === Op.Acknowledge;
  expect([frame.fecn, echoes ? 0 : frame.becn]).toEqual([0, 0]);
  expect((frame.payloadLength + frame.padCount) % 4).toBe(0);
  for (let i = frame.payloadOffset + frame.payloadLength; i < frame.icrcOffset; i++) expect(bytes[i]).toBe(0);
  const packet = packetOf(frame);
  return { ...packet, psn: psnDiff(packet.psn, firstPsn) };
}
