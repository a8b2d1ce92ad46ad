/**
 * The part of a ladder that proves a finding: its packets, with those around them.
 *
 * Owns the choice of packets. Packets of no conversation, pause frames or ARP say, are named as in the list.
 */
import { type LadderRow, rowsBefore, silenceOfDistances } from '../ladder/rows.ts';
import { ladderPacket } from './ladder-index.ts';
import type { LadderExcerpt } from './protocol.ts';
import { rowOf } from './rows.ts';
import type { CaptureSession } from './session.ts';

/** The excerpt for packets of these numbers; without rows where there are none. */
export function ladderExcerpt(session: CaptureSession, numbers: readonly number[]): LadderExcerpt {
  const first = (numbers[0] ?? 0) - 1;
  if (first < 0 || first >= session.table.length) return { conversation: 0, left: '', right: '', rows: [] };
  const conversation = session.table.conversation[first] ?? 0;
  const indices = conversation > 0 ? near(session, conversation, numbers) : numbers.map((number) => number - 1);
  const ends = session.analysis?.conversations.find(({ id }) => id === conversation)?.ends;
  const [source = '', destination = ''] = rowOf(session, first).ends.split(' > ');
  const left = ends === undefined ? source : ends[0].address;
  const right = ends === undefined ? destination : ends[1].address;
  return { conversation, left, right, rows: rowsOf(session, conversation, indices.slice(0, MOST_PACKETS), left) };
}

/** Indices of the packets of the conversation that are at most `AROUND` away from one that is named. */
function near(session: CaptureSession, conversation: number, numbers: readonly number[]): number[] {
  const packets = session.packetsOf(conversation);
  const positions = new Set<number>();
  for (const number of numbers) {
    const at = packets.lowerBound(number - 1);
    if (packets.at(at) !== number - 1) continue;
    for (let position = Math.max(0, at - AROUND); position <= Math.min(packets.length - 1, at + AROUND); position++)
      positions.add(position);
  }
  return [...positions].sort((a, b) => a - b).map((position) => packets.at(position));
}

function rowsOf(session: CaptureSession, conversation: number, indices: readonly number[], left: string): LadderRow[] {
  const { timeNs } = session.table;
  const times = indices.map((index) => timeNs[index] ?? 0);
  const silenceNs = silenceOfDistances(times.slice(1).map((time, at) => time - (times[at] ?? time)));
  const packets = session.packetsOf(conversation);
  return indices.flatMap((index, at): LadderRow[] => {
    const before = indices[at - 1];
    if (conversation === 0) {
      const { ends, info } = rowOf(session, index);
      const sender = ends.startsWith(`${left} `) ? 0 : 1;
      return [
        { kind: 'packet', packet: { ...ladderPacket(session, index), sender, name: info.slice(0, LONGEST_NAME) } },
      ];
    }
    const packet = ladderPacket(session, index);
    const between = before === undefined ? 0 : packets.lowerBound(index) - packets.lowerBound(before) - 1;
    const extra = rowsBefore(before === undefined ? undefined : timeNs[before], packet, silenceNs);
    const text = `${between} more ${between === 1 ? 'packet' : 'packets'}`;
    const note: LadderRow[] = between > 0 ? [{ kind: 'note', note: { timeNs: packet.timeNs, side: 0, text } }] : [];
    return [...note, ...extra, { kind: 'packet', packet }];
  });
}

const AROUND = 2;
const MOST_PACKETS = 10;
const LONGEST_NAME = 48;
