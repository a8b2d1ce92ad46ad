/**
 * What is wrong with a request at the expected PSN, rule by rule, and what each fault may draw. Written from
 * ref:conformance#3 (OPS, LEN, KEY, RD, ATM, RNR, MPE, C.1 and appendix D). With several faults any of their answers
 * will do (PKT-21).
 */
import { OPCODE_FLAGS, Op, OpFlag } from 'rocev2/packets';
import type { Packet } from 'rocev2/packets/kit';
import type { SwitchName } from './profiles.ts';
import type { ResponderSetup, ResponderState } from './responder-state.ts';

/**
 * A NAK code; RNR NAK; nothing, as if it had been lost; nothing, and the queue pair is dead; no fault for this device.
 */
export type Answer = 0x61 | 0x62 | 'rnr' | 'lost' | 'dies' | 'accept';

export interface Fault {
  readonly ruleId: string;
  readonly answers: readonly Answer[];
}

export const hasFlag = (packet: Packet, flags: number): boolean => ((OPCODE_FLAGS[packet.opcode] ?? 0) & flags) !== 0;

/** SEND, WRITE, or what is answered by more than an ACK. */
export const kindOf = (packet: Packet): 'send' | 'write' | 'answered' =>
  hasFlag(packet, OpFlag.Send) ? 'send' : hasFlag(packet, OpFlag.Write) ? 'write' : 'answered';

export const sizeOf = (packet: Packet): number => packet.payload?.length ?? 0;

/** A request that the device knows. */
export function isKnown(setup: ResponderSetup, packet: Packet): boolean {
  if (packet.opcode === Op.Flush) return setup.flush;
  if (packet.opcode === Op.AtomicWrite) return setup.atomicWrite;
  return hasFlag(packet, OpFlag.Send | OpFlag.Write | OpFlag.Read | OpFlag.Atomic);
}

/** `inProgress`: READs and atomics whose answers have not all been seen. */
export function faultsOf(setup: ResponderSetup, state: ResponderState, packet: Packet, inProgress: number): Fault[] {
  const dropped = allows(setup, 'reserved-dropped');
  if (!isKnown(setup, packet))
    return [
      { ruleId: hasFlag(packet, OpFlag.Request) ? 'MPE-15' : 'PKT-08', answers: dropped ? [0x61, 'lost'] : [0x61] },
    ];
  const kind = kindOf(packet);
  return [
    ...order(state, packet),
    ...permission(setup, packet),
    ...(kind === 'send' ? sendFaults(setup, state, packet) : []),
    ...(kind === 'write' ? writeFaults(setup, state, packet) : []),
    ...(kind === 'answered' ? answeredFaults(setup, packet, inProgress) : []),
  ];
}

/** Appendix D. */
function order({ open }: ResponderState, packet: Packet): Fault[] {
  const starts = hasFlag(packet, OpFlag.First | OpFlag.Only);
  const kind = kindOf(packet);
  if (starts) return open === undefined ? [] : [{ ruleId: 'OPS-04', answers: [0x61] }];
  if (open === undefined) return [{ ruleId: 'OPS-03', answers: [0x61] }];
  return open.kind === kind ? [] : [{ ruleId: 'OPS-05', answers: [0x61] }];
}

function permission({ access }: ResponderSetup, packet: Packet): Fault[] {
  const refuse = (ruleId: string): Fault[] => [{ ruleId, answers: [0x61] }];
  if (hasFlag(packet, OpFlag.Read) && !access.read) return refuse('OPS-08');
  if (hasFlag(packet, OpFlag.Write | OpFlag.AtomicWrite) && !access.write) return refuse('OPS-09');
  if (hasFlag(packet, OpFlag.Atomic) && !access.atomic) return refuse('OPS-10');
  return [];
}

function sendFaults(setup: ResponderSetup, state: ResponderState, packet: Packet): Fault[] {
  const starts = hasFlag(packet, OpFlag.First | OpFlag.Only);
  const faults: Fault[] = [];
  if (starts && state.receives === 0) faults.push({ ruleId: 'RNR-01', answers: ['rnr'] });
  const before = starts ? 0 : (state.open?.got.length ?? 0);
  if (before + sizeOf(packet) > setup.receiveBytes) faults.push({ ruleId: 'LEN-10', answers: [0x61] });
  const loose = allows(setup, 'send-length-unchecked');
  for (const fault of sizes(setup, packet))
    faults.push(loose ? { ...fault, answers: [...fault.answers, 'accept'] } : fault);
  faults.push(...pads(packet, allows(setup, 'send-pad-believed')));
  if (packet.inv !== undefined) faults.push({ ruleId: 'KEY-15', answers: ['dies'] });
  return faults;
}

function writeFaults(setup: ResponderSetup, state: ResponderState, packet: Packet): Fault[] {
  const starts = hasFlag(packet, OpFlag.First | OpFlag.Only);
  const faults: Fault[] = [];
  const left = starts ? (packet.reth?.length ?? 0) : state.open?.kind === 'write' ? state.open.left : undefined;
  const residual = allows(setup, 'write-length-residual') && left === sizeOf(packet);
  for (const fault of sizes(setup, packet))
    faults.push(residual ? { ...fault, answers: [...fault.answers, 'accept'] } : fault);
  if (left !== undefined) faults.push(...againstLength(packet, left));
  faults.push(...pads(packet, false));
  if (starts) faults.push(...range(setup, packet.reth, true));
  if (hasFlag(packet, OpFlag.Imm) && state.receives === 0) faults.push({ ruleId: 'RNR-02', answers: ['rnr'] });
  return faults;
}

/** What a WRITE packet brings, against what its message still has to bring. */
function againstLength(packet: Packet, left: number): Fault[] {
  const size = sizeOf(packet);
  if (hasFlag(packet, OpFlag.Last | OpFlag.Only)) return size === left ? [] : [{ ruleId: 'LEN-04', answers: [0x61] }];
  if (size > left) return [{ ruleId: 'LEN-05', answers: [0x61] }];
  // All is there, and a LAST has still to come, which then brings too much: the fault may be seen now or then.
  return size === left ? [{ ruleId: 'OPS-06', answers: [0x61, 'accept'] }] : [];
}

function answeredFaults(setup: ResponderSetup, packet: Packet, inProgress: number): Fault[] {
  const faults: Fault[] = [];
  if (inProgress >= setup.maxDestRdAtomic) faults.push({ ruleId: 'RD-11', answers: [0x61, 'accept'] });
  if (packet.opcode === Op.AtomicWrite) return [...faults, ...atomicWriteFaults(setup, packet)];
  const flush = packet.opcode === Op.Flush;
  if (sizeOf(packet) > 0 || (packet.pad ?? 0) > 0) {
    const loose = allows(setup, flush ? 'payload-on-flush-ignored' : 'payload-on-read-ignored');
    const answers: Answer[] = loose ? [0x61, 'lost', 'accept'] : [0x61, 'lost'];
    faults.push({ ruleId: flush ? 'MPE-01' : 'LEN-09', answers });
  }
  if (flush) return [...faults, ...flushFaults(setup, packet)];
  if (packet.reth !== undefined) return [...faults, ...range(setup, packet.reth, true)];
  const { va, rkey } = packet.atomic ?? { va: 0n, rkey: 0 };
  if (va % 8n !== 0n) faults.push({ ruleId: 'ATM-04', answers: [0x61] });
  return [...faults, ...range(setup, { va, rkey, length: 8 }, false)];
}

function atomicWriteFaults(setup: ResponderSetup, packet: Packet): Fault[] {
  const { va = 0n, rkey = 0, length = 0 } = packet.reth ?? {};
  const faults: Fault[] = [];
  if (sizeOf(packet) !== 8 || length !== 8) faults.push({ ruleId: 'MPE-09', answers: [0x61] });
  if (va % 8n !== 0n) faults.push({ ruleId: 'MPE-10', answers: [0x61] });
  return [...faults, ...pads(packet, false), ...range(setup, { va, rkey, length }, false)];
}

/** Selectivity 1 is the whole region: address and length mean nothing then (MPE-05). */
function flushFaults({ region }: ResponderSetup, { reth, feth }: Packet): Fault[] {
  const { va = 0n, rkey = 0, length = 0 } = reth ?? {};
  if (rkey !== region.rkey) return [{ ruleId: 'MPE-03', answers: [0x62] }];
  const inside = feth?.selectivity === 1 || isInside(region, va, length);
  if (inside) return [];
  return [{ ruleId: 'MPE-06', answers: length > MAX_MESSAGE_BYTES ? [0x62, 0x61] : [0x62] }];
}

/** FIRST and MIDDLE are full, LAST is not empty, none exceeds the path MTU. */
function sizes({ mtu }: ResponderSetup, packet: Packet): Fault[] {
  const size = sizeOf(packet);
  const refuse = (ruleId: string): Fault[] => [{ ruleId, answers: [0x61] }];
  if (hasFlag(packet, OpFlag.First | OpFlag.Middle)) return size === mtu ? [] : refuse('LEN-01');
  if (hasFlag(packet, OpFlag.Last)) return size > 0 && size <= mtu ? [] : refuse('LEN-02');
  return size <= mtu ? [] : refuse('LEN-03');
}

/** A packet whose payload and pad make no whole words is malformed: refused, or not even looked at. */
function pads(packet: Packet, believed: boolean): Fault[] {
  if (packet.pad === undefined || ((sizeOf(packet) + packet.pad) & 3) === 0) return [];
  return [{ ruleId: 'LEN-07', answers: believed ? [0x61, 'lost', 'accept'] : [0x61, 'lost'] }];
}

/** `emptyIsFree`: a length of zero needs no key (KEY-04). */
function range({ region }: ResponderSetup, reth: Packet['reth'], emptyIsFree: boolean): Fault[] {
  const { va = 0n, rkey = 0, length = 0 } = reth ?? {};
  if (length === 0 && emptyIsFree) return [];
  if (length > MAX_MESSAGE_BYTES) return [{ ruleId: 'LEN-06', answers: [0x61, 0x62] }];
  if (rkey !== region.rkey) return [{ ruleId: 'KEY-01', answers: [0x62] }];
  return isInside(region, va, length) ? [] : [{ ruleId: 'KEY-05', answers: [0x62] }];
}

const isInside = (region: ResponderSetup['region'], va: bigint, length: number): boolean =>
  va >= region.va && va + BigInt(length) <= region.va + BigInt(region.length);

const allows = ({ profile }: ResponderSetup, name: SwitchName): boolean => profile.switches.includes(name);

const MAX_MESSAGE_BYTES = 0x8000_0000;
