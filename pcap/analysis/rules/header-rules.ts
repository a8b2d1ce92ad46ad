/**
 * What a packet must fulfil by itself, whatever came before it: lengths, reserved values, formats.
 *
 * Owns no state. It is called for packets whose ICRC is not known to be wrong: a damaged packet breaks no rule. Payload
 * bytes are read only where the capture has them.
 */
import { aethSyndrome, SYNDROME_KIND_MASK, SYNDROME_VALUE_MASK, SyndromeKind } from '../../../packets/aeth.ts';
import { atomicVaLo } from '../../../packets/atomic-eth.ts';
import { BTH_BYTES } from '../../../packets/bth.ts';
import { CNP_BYTES } from '../../../packets/cnp.ts';
import { dethQkey } from '../../../packets/deth.ts';
import { type Frame, FrameStatus } from '../../../packets/frame.ts';
import { ICRC_BYTES, icrcMatches } from '../../../packets/icrc.ts';
import { GSI_QKEY, GSI_QPN, MAD_BYTES } from '../../../packets/mad.ts';
import { AETH_AT, ATOMIC_ETH_AT, DETH_AT, OpFlag, opcodeInfo, RETH_AT } from '../../../packets/opcode.ts';
import { rethDmaLength, rethVaLo } from '../../../packets/reth.ts';
import { ROCE_UDP_PORT, UDP_BYTES } from '../../../packets/udp.ts';
import type { PacketFacts } from '../facts.ts';
import { RULES } from './catalogue.ts';
import { bytesBeforeRoce } from './long-headers.ts';
import type { RuleViolations } from './rule-violations.ts';

/** Checks one RoCEv2 packet, whole or not. */
export function checkHeaders(facts: PacketFacts, violations: RuleViolations): void {
  const { frame, status, udpChecksum } = facts.dissection;
  if (status === FrameStatus.Ok) {
    checkLengths(facts, frame, violations);
    checkExtended(facts, frame, violations);
    if (frame.destQpn === GSI_QPN) checkManagement(facts, frame, violations);
    if (udpChecksum !== 0) violations.add(RULES.udpChecksum, facts, 'its UDP checksum is not 0');
  } else checkShape(facts, frame, status, violations);
}

/** A packet that is RoCEv2 by its port and cannot be read to its end. */
function checkShape(facts: PacketFacts, frame: Frame, status: FrameStatus, violations: RuleViolations): void {
  const before = bytesBeforeRoce(frame, status);
  if (before > 0) {
    const what = status === FrameStatus.BadIpHeader ? 'IPv4 options' : 'IPv6 extension headers';
    violations.add(RULES.longHeaders, facts, `it has ${before} bytes of ${what} in front of UDP port ${ROCE_UDP_PORT}`);
    return;
  }
  // A packet that was damaged on its way proves nothing about its sender.
  if (facts.dissection.cut || !hasGoodIcrc(frame, status)) return;
  if (status === FrameStatus.BadTransportVersion)
    violations.add(RULES.transportVersion, facts, `its transport version is ${frame.transportVersion}`);
  else if (status === FrameStatus.UnknownOpcode) {
    // Classes from 0xC0 on are for manufacturers to use.
    if (frame.opcode < FIRST_MANUFACTURER_OPCODE)
      violations.add(RULES.reservedOpcode, facts, `opcode ${hex2(frame.opcode)} is reserved`);
  } else if (status === FrameStatus.BadPad || status === FrameStatus.BadHeaderLength)
    violations.add(RULES.headerLength, facts, `${opcodeInfo(frame.opcode).name} is too short for its headers and pad`);
  else if (status === FrameStatus.BadUdpLength)
    violations.add(RULES.udpLength, facts, 'its UDP length does not fit, or leaves no room for BTH and ICRC');
}

/** Whether the ICRC is at the end of the packet and right: for packets with a wrong shape. */
function hasGoodIcrc(frame: Frame, status: FrameStatus): boolean {
  if (frame.bthOffset >= 0) return icrcMatches(frame);
  if (status !== FrameStatus.BadUdpLength || frame.destPort !== ROCE_UDP_PORT) return false;
  const bthOffset = frame.l4Offset + UDP_BYTES;
  const icrcOffset = frame.ipEnd - ICRC_BYTES;
  return icrcOffset >= bthOffset + BTH_BYTES && icrcMatches({ ...frame, bthOffset, icrcOffset });
}

function checkLengths(facts: PacketFacts, frame: Frame, violations: RuleViolations): void {
  const { flags, payloadLength, padCount } = frame;
  if (((payloadLength + padCount) & 3) !== 0)
    violations.add(RULES.padMultiple, facts, `it has ${payloadLength} bytes of payload and ${padCount} of pad`);
  if ((flags & OpFlag.Payload) === 0 && payloadLength !== 0)
    violations.add(RULES.noPayload, facts, `${opcodeInfo(frame.opcode).name} carries ${payloadLength} bytes`);
  if ((flags & OpFlag.AtomicWrite) !== 0 && payloadLength !== ATOMIC_BYTES)
    violations.add(RULES.noPayload, facts, `ATOMIC WRITE carries ${payloadLength} bytes`);
}

function checkExtended(facts: PacketFacts, frame: Frame, violations: RuleViolations): void {
  const { view, opcode, bthOffset, flags } = frame;
  const rethAt = RETH_AT[opcode] as number;
  if (rethAt >= 0) {
    const length = rethDmaLength(view, bthOffset + rethAt);
    if (length > MAX_MESSAGE) violations.add(RULES.messageSize, facts, `its RETH has a DMA length of ${length}`);
    if ((flags & OpFlag.AtomicWrite) !== 0 && (rethVaLo(view, bthOffset + rethAt) & 7) !== 0)
      violations.add(RULES.atomicAlignment, facts, 'an ATOMIC WRITE goes to an address that is no multiple of 8');
  }
  const atomicAt = ATOMIC_ETH_AT[opcode] as number;
  if (atomicAt >= 0 && (atomicVaLo(view, bthOffset + atomicAt) & 7) !== 0)
    violations.add(RULES.atomicAlignment, facts, 'an atomic works at an address that is no multiple of 8');
  const aethAt = AETH_AT[opcode] as number;
  if (aethAt >= 0) checkSyndrome(facts, flags, aethSyndrome(view, bthOffset + aethAt), violations);
  if ((flags & OpFlag.Cnp) !== 0) checkCnp(facts, frame, violations);
}

function checkSyndrome(facts: PacketFacts, flags: number, syndrome: number, violations: RuleViolations): void {
  const kind = syndrome & SYNDROME_KIND_MASK;
  if ((flags & OpFlag.Ack) === 0 && kind !== SyndromeKind.Ack)
    violations.add(RULES.readResponseSyndrome, facts, `an answer with data has syndrome ${hex2(syndrome)}`);
  const unknownNak = kind === SyndromeKind.Nak && (syndrome & SYNDROME_VALUE_MASK) > LAST_NAK_CODE;
  const unknownKind = kind !== SyndromeKind.Ack && kind !== SyndromeKind.RnrNak && kind !== SyndromeKind.Nak;
  if (unknownNak || unknownKind)
    violations.add(RULES.reservedSyndrome, facts, `syndrome ${hex2(syndrome)} is reserved`);
}

function hex2(value: number): string {
  return `0x${value.toString(16).padStart(2, '0')}`;
}

function checkCnp(facts: PacketFacts, frame: Frame, violations: RuleViolations): void {
  const { view, bthOffset, psn, solicited } = frame;
  if (psn !== 0 || solicited !== 0)
    violations.add(RULES.cnpFormat, facts, `a CNP has PSN ${psn} and solicited event ${solicited}`);
  if (facts.dissection.cut) return;
  let bits = 0;
  for (let at = bthOffset + CNP_BYTES - RESERVED_BYTES; at < bthOffset + CNP_BYTES; at += 4) bits |= view.getUint32(at);
  if (bits !== 0) violations.add(RULES.cnpFormat, facts, 'the reserved bytes of a CNP are not 0');
}

function checkManagement(facts: PacketFacts, frame: Frame, violations: RuleViolations): void {
  const at = DETH_AT[frame.opcode] as number;
  if (at < 0) violations.add(RULES.managementFormat, facts, `${opcodeInfo(frame.opcode).name} goes to queue pair 1`);
  else if (dethQkey(frame.view, frame.bthOffset + at) !== GSI_QKEY)
    violations.add(RULES.managementFormat, facts, 'a datagram to queue pair 1 has another Q_Key');
  else if (frame.payloadLength !== MAD_BYTES)
    violations.add(RULES.managementFormat, facts, `a datagram to queue pair 1 has ${frame.payloadLength} bytes`);
}

const FIRST_MANUFACTURER_OPCODE = 0xc0;
const MAX_MESSAGE = 0x8000_0000;
const ATOMIC_BYTES = 8;
/** NAK codes 0..4 mean something. */
const LAST_NAK_CODE = 4;
const RESERVED_BYTES = 16;
