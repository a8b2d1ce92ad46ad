/**
 * All fields of a packet by name: those of the capture file, those of `frameFields`, those of the analysis.
 *
 * Owns the names that begin with `frame.` and those of the analysis. This is the cold path and allocates freely;
 * `fast-fields.ts` has the fields that need no record.
 */
import type { FieldValue } from '../../packets/field-list.ts';
import { frameFields } from '../../packets/frame-fields.ts';
import { MARK_NAMES } from '../analysis/facts.ts';
import { IcrcState, icrcState } from '../dissection.ts';
import { tunnelsText } from '../tunnels/index.ts';
import { type CapturedPacket, Direction } from '../types.ts';
import type { FilterFacts, FilterSubject } from './types.ts';

/** All fields of a packet, with the names of tshark as keys. */
export function subjectFields(subject: FilterSubject): Record<string, FieldValue> {
  const fields = fieldsWithoutIcrc(subject);
  if (ICRC_FIELD in fields) fields[ICRC_FIELD] = ICRC_NAMES[icrcState(subject.dissection)];
  return fields;
}

/** The same but for what costs most, the verification of the ICRC: it is there when it should be, and "unknown". */
export function fieldsWithoutIcrc(subject: FilterSubject): Record<string, FieldValue> {
  const { packet, dissection, facts, interfaceName } = subject;
  const { frame, status, linkKnown } = dissection;
  // One object that grows, for each is large: copies of it would be most of the work.
  const fields = captureFields(packet, interfaceName);
  if (linkKnown) {
    Object.assign(fields, frameFields(frame, status, true));
    if (ICRC_FIELD in fields) fields[ICRC_FIELD] = ICRC_NAMES[IcrcState.Unknown];
    if (dissection.depth > 0) fields['roce.tunnel'] = tunnelsText(dissection.tunnels, dissection.depth);
  }
  if (facts !== undefined) addFacts(fields, facts);
  return fields;
}

/** The fields of a packet from the capture file, beside its bytes. */
export function captureFields(packet: CapturedPacket, interfaceName = ''): Record<string, FieldValue> {
  const { dropCount, packetId, direction, comments } = packet;
  const fields: Record<string, FieldValue> = {
    'frame.number': packet.number,
    // Text, as tshark prints it: a double would lose the last digits.
    'frame.time_epoch': `${packet.seconds}.${String(packet.nanoseconds).padStart(9, '0')}`,
    'frame.len': packet.originalLength,
    'frame.cap_len': packet.bytes.length,
    'frame.interface_id': packet.interfaceIndex,
  };
  if (interfaceName !== '') fields['frame.interface_name'] = interfaceName;
  if (direction !== Direction.Unknown) fields['frame.packet_flags_direction'] = direction;
  if (dropCount !== undefined) fields['frame.drop_count'] = dropCount;
  // Text where it is beyond what a double holds, as `FieldList.toRecord` has it.
  if (packetId !== undefined) fields['frame.packet_id'] = exactNumber(packetId);
  if (comments.length > 0) fields['frame.comment'] = comments.join('\n');
  return fields;
}

/** Names of marks, in the order of their bits. */
export function markNames(marks: number): string[] {
  return MARK_NAMES.filter((_, bit) => (marks & (1 << bit)) !== 0);
}

function exactNumber(value: bigint): FieldValue {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value.toString();
}

function addFacts(fields: Record<string, FieldValue>, { conversation, relativePsn, marks }: FilterFacts): void {
  if (conversation !== undefined) fields['roce.stream'] = conversation.id;
  if (!Number.isNaN(relativePsn)) fields['roce.relative_psn'] = relativePsn;
  if (marks !== 0) fields['roce.marks'] = markNames(marks).join(' ');
}

/** "good", "bad", "unknown" where the capture cut the packet, or "rxe-flush" (see `IcrcState`). */
export const ICRC_FIELD = 'roce.icrc.status';
const ICRC_NAMES: Readonly<Record<IcrcState, string>> = {
  [IcrcState.Unknown]: 'unknown',
  [IcrcState.Good]: 'good',
  [IcrcState.Bad]: 'bad',
  [IcrcState.RxeFlush]: 'rxe-flush',
};
