/** What both capture formats are put through: read whole and in pieces, dissected, filtered for, copied, read again. */
import { Frame, formatFrame } from '../../../../packets/index.ts';
import {
  CaptureCopy,
  type CapturedPacket,
  CaptureReader,
  Dissection,
  dissect,
  icrcState,
} from '../../../../pcap/index.ts';
import { promise } from '../../engine/target.ts';
import { isRefusal } from './refusal.ts';

const FIX = 1;
const dissection = new Dissection();

/** `fix` changes the lengths of the file in place. */
export function readInput(input: Uint8Array, fix: (bytes: Uint8Array) => void): string {
  const flags = input[0] ?? 0;
  const bytes = input.slice(1);
  if ((flags & FIX) !== 0) fix(bytes);
  const whole = read([bytes]);
  const pieces = read(cut(bytes, 1 + (flags >>> 1)));
  promise(whole.text === pieces.text, 'a file reads the same in any pieces');
  if (whole.copied !== undefined) {
    const again = read([whole.copied]);
    promise(again.end === 'whole', `a copy is a whole file, not one that ends with ${again.end}`);
    promise(again.count === whole.kept, 'a copy has the packets that were kept');
  }
  return whole.end === 'whole' ? `${whole.format} of ${Math.min(whole.count, 3)} packets` : whole.end;
}

function read(pieces: readonly Uint8Array[]) {
  const copy = new CaptureCopy({ comments: ['copied'] });
  const reader = new CaptureReader(copy);
  const said: unknown[] = [];
  let [end, kept, count] = ['whole', 0, 0];
  const take = (packet: CapturedPacket): void => {
    count += 1;
    promise(packet.number >= count, 'packets are numbered');
    const status = dissect(packet, dissection);
    const icrc = icrcState(dissection);
    const { ipOffset, bthOffset, frame } = { ...dissection.frame, frame: dissection.frame };
    promise(frame instanceof Frame, 'a dissection has a frame');
    said.push({
      ...packet,
      packetId: `${packet.packetId}`,
      bytes: packet.bytes.length,
      status,
      icrc,
      ip: ipOffset >= 0,
      bth: bthOffset >= 0,
    });
    said.push(formatFrame(dissection.frame, status, icrc === 1));
    if (count % 2 === 1) {
      copy.keep(packet, [`packet ${count}`]);
      kept += 1;
    }
  };
  try {
    for (const piece of pieces) {
      reader.push(piece);
      for (let packet = reader.next(); packet !== undefined; packet = reader.next()) take(packet);
    }
    reader.end();
  } catch (error) {
    end = refusal(error);
  }
  const rest = [reader.interfaces.map((one) => ({ ...one })), reader.sections, [...reader.names]];
  const copied = end === 'whole' && count > 0 ? copy.take() : undefined;
  const text = JSON.stringify([said, rest, end], (_key, value: unknown) =>
    typeof value === 'bigint' ? `${value}n` : value,
  );
  return { text, end, count, kept, copied, format: reader.formatName ?? 'nothing' };
}

/** The error without its numbers. @throws what is no refusal */
function refusal(error: unknown): string {
  const message = isRefusal(error, 'ERR_ROCE_CAPTURE');
  return message.replace(/0x[0-9a-f]+|\d+/g, 'N').replace(/'.*'/, "'...'");
}

function cut(bytes: Uint8Array, size: number): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.slice(at, at + size));
  return pieces;
}
