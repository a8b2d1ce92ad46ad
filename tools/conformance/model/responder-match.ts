/** Whether a packet is the reply that was expected, and if not, what is wrong with it and by which rule. */
import { Op, opcodeInfo } from 'rocev2/packets';
import { describePacket, type Packet } from 'rocev2/packets/kit';
import type { ModelDifference } from './difference.ts';
import type { ExpectedReply } from './responder-state.ts';

/** `msn`: messages completed by now. Undefined when the packet is the reply. */
export function disagreement(expected: ExpectedReply, packet: Packet, msn: number): ModelDifference | undefined {
  const ruleId = brokenRule(expected, packet, msn);
  if (ruleId === undefined) return undefined;
  return { ruleId, sentence: `${describeExpected(expected)} was expected, and ${describePacket(packet)} came` };
}

function brokenRule(expected: ExpectedReply, packet: Packet, msn: number): string | undefined {
  const { opcodes, ruleId, psn, again } = expected;
  const refusal = typeof expected.syndrome === 'number';
  if (!opcodes.includes(packet.opcode))
    return ruleId === 'RD-08' ? 'RD-09' : opcodes[0] === Op.Acknowledge ? ruleId : 'RD-02';
  if (!agreesOnSyndrome(expected, packet)) return refusal ? ruleId : 'RD-05';
  if (packet.psn !== psn) return refusal ? (ruleId === 'RNR-01' ? 'RNR-04' : 'KEY-18') : 'RD-01';
  if (!agreesOnMsn(expected, packet, msn)) return refusal ? 'ACK-08' : again ? 'RD-16' : 'RD-15';
  if (expected.original !== undefined && packet.original !== expected.original) return again ? 'ATM-05' : 'ATM-03';
  if (!agreesOnData(expected, packet)) return ruleId;
  return undefined;
}

function agreesOnSyndrome({ syndrome }: ExpectedReply, packet: Packet): boolean {
  if (packet.opcode === Op.ReadResponseMiddle) return true;
  const found = packet.syndrome ?? 0xff;
  return syndrome === 'positive' ? found < 0x20 : found === syndrome;
}

/** A refusal counts what was completed then (ACK-08); an answer may count what has been completed since. */
function agreesOnMsn(expected: ExpectedReply, packet: Packet, msn: number): boolean {
  if (packet.opcode === Op.ReadResponseMiddle) return true;
  const found = packet.msn ?? -1;
  return found >= expected.msn && found <= (typeof expected.syndrome === 'number' ? expected.msn : msn);
}

function agreesOnData({ data, images = [] }: ExpectedReply, { payload = NOTHING }: Packet): boolean {
  if (data === undefined) return true;
  if (payload.length !== data.length) return false;
  return payload.every((byte, i) => images.some((image) => image[data.offset + i] === byte));
}

/** As `describePacket` would. */
export function describeExpected({ opcodes, psn, msn, syndrome, data, original }: ExpectedReply): string {
  const nak =
    syndrome === 'positive'
      ? 'ACK'
      : syndrome >= 0x60
        ? `NAK 0x${syndrome.toString(16)}`
        : `RNR NAK timer ${syndrome & 0x1f}`;
  const name =
    opcodes[0] === Op.Acknowledge
      ? nak
      : opcodeInfo(opcodes[0] ?? 0)
          .name.replace('RC ', '')
          .replace('RDMA ', '');
  const words = [name, `psn+${psn}`, `msn ${msn}`];
  if (original !== undefined) words.push(`original ${original}`);
  if (data !== undefined && data.length > 0) words.push(`${data.length} bytes of the region from ${data.offset}`);
  return words.join(' ');
}

const NOTHING = new Uint8Array(0);
