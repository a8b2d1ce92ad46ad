/**
 * All fields of a packet by name: what the capture says of it, what `frameFields` reads, what the analysis knows.
 *
 * Owns the names that begin with `frame.` and those of the analysis. Cold path: allocates freely. `fastField` is for those that need no record.
 */
import type { FieldValue } from '../../packets/field-list.ts';
import type { Frame } from '../../packets/frame.ts';
import { frameFields } from '../../packets/frame-fields.ts';
import { MARK_NAMES } from '../analysis/facts.ts';
import { IcrcState, icrcState } from '../dissection.ts';
import { type CapturedPacket, Direction } from '../types.ts';
import type { FilterFacts, FilterSubject } from './types.ts';

/** Everything that can be said of a packet, keys as tshark names them. */
export function subjectFields(subject: FilterSubject): Record<string, FieldValue> {
  const { packet, dissection, facts } = subject;
  const { frame, status, linkKnown } = dissection;
  const icrc = icrcState(dissection);
  const fields = linkKnown ? frameFields(frame, status, icrc === IcrcState.Good) : {};
  const known = 'roce.icrc.status' in fields ? { 'roce.icrc.status': ICRC_NAMES[icrc] } : {};
  return { ...captureFields(packet, subject.interfaceName), ...fields, ...known, ...factFields(facts) };
}

/** What the capture says about a packet beside its bytes. */
export function captureFields(packet: CapturedPacket, interfaceName = ''): Record<string, FieldValue> {
  return {
    'frame.number': packet.number,
    // Text, as tshark prints it: a double would lose the last digits.
    'frame.time_epoch': `${packet.seconds}.${String(packet.nanoseconds).padStart(9, '0')}`,
    'frame.len': packet.originalLength,
    'frame.cap_len': packet.bytes.length,
    'frame.interface_id': packet.interfaceIndex,
    ...(interfaceName === '' ? {} : { 'frame.interface_name': interfaceName }),
    ...(packet.direction === Direction.Unknown ? {} : { 'frame.packet_flags_direction': packet.direction }),
    ...(packet.comments.length === 0 ? {} : { 'frame.comment': packet.comments.join('\n') }),
  };
}

/** Names of marks, in the order of their bits. */
export function markNames(marks: number): string[] {
  return MARK_NAMES.filter((_, bit) => (marks & (1 << bit)) !== 0);
}

/** A number that can be had without the record of all fields: NaN where the packet has none. Undefined for any other field. */
export function fastField(name: string): ((subject: FilterSubject) => number) | undefined {
  return FAST_FIELDS.get(name);
}

function factFields(facts: FilterFacts | undefined): Record<string, FieldValue> {
  if (facts === undefined) return {};
  return {
    ...(facts.conversation === undefined ? {} : { 'roce.stream': facts.conversation.id }),
    ...(Number.isNaN(facts.relativePsn) ? {} : { 'roce.relative_psn': facts.relativePsn }),
    ...(facts.marks === 0 ? {} : { 'roce.marks': markNames(facts.marks).join(' ') }),
  };
}

function bth(get: (frame: Frame) => number): (subject: FilterSubject) => number {
  return ({ dissection: { frame } }) => (frame.bthOffset < 0 ? Number.NaN : get(frame));
}

const ICRC_NAMES: Readonly<Record<IcrcState, string>> = {
  [IcrcState.Unknown]: 'unknown',
  [IcrcState.Good]: 'good',
  [IcrcState.Bad]: 'bad',
  [IcrcState.RxeFlush]: 'rxe-flush',
};

const FAST_FIELDS: ReadonlyMap<string, (subject: FilterSubject) => number> = new Map([
  ['frame.number', ({ packet }) => packet.number],
  ['frame.len', ({ packet }) => packet.originalLength],
  ['frame.cap_len', ({ packet }) => packet.bytes.length],
  ['frame.interface_id', ({ packet }) => packet.interfaceIndex],
  ['infiniband.bth.opcode', bth((frame) => frame.opcode)],
  ['infiniband.bth.se', bth((frame) => frame.solicited)],
  ['infiniband.bth.m', bth((frame) => frame.migReq)],
  ['infiniband.bth.padcnt', bth((frame) => frame.padCount)],
  ['infiniband.bth.p_key', bth((frame) => frame.pkey)],
  ['infiniband.bth.destqp', bth((frame) => frame.destQpn)],
  ['infiniband.bth.a', bth((frame) => frame.ackReq)],
  ['infiniband.bth.psn', bth((frame) => frame.psn)],
  ['roce.bth.fecn', bth((frame) => frame.fecn)],
  ['roce.bth.becn', bth((frame) => frame.becn)],
  ['roce.stream', ({ facts }) => facts?.conversation?.id ?? Number.NaN],
  ['roce.relative_psn', ({ facts }) => facts?.relativePsn ?? Number.NaN],
]);
