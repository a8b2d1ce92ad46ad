/**
 * Writes a capture again with what was found as comments on the packets that show it.
 *
 * Owns the words of the comments. The file is read a second time, and all else in it stays as it was (`CaptureCopy`).
 */
import type { Writable } from 'node:stream';
import { type Analysis, CaptureCopy, CaptureReader, type TransportEvent } from 'rocev2/pcap';
import { Output } from '../dump/output.ts';
import { eventWords } from './event-text.ts';

/** Comments by number of the packet: findings first, then events. */
export function packetComments({ findings, events }: Analysis): Map<number, string[]> {
  const comments = new Map<number, string[]>();
  const add = (frame: number, text: string): void => {
    const known = comments.get(frame);
    if (known === undefined) comments.set(frame, [text]);
    else known.push(text);
  };
  for (const { id, severity, text, frames } of findings) {
    for (const frame of frames) add(frame, `roce ${severity}, ${id}: ${text}`);
  }
  for (const event of events) if (event.frame > 0) add(event.frame, `roce: ${eventText(event)}`);
  return comments;
}

/**
 * Copies the capture in `chunks` to `out`.
 *
 * @throws RoceError ERR_ROCE_CAPTURE where it is damaged, after everything before that place has been written
 */
export async function annotate(chunks: AsyncIterable<Uint8Array>, analysis: Analysis, out: Writable): Promise<void> {
  const comments = packetComments(analysis);
  const copy = new CaptureCopy({ application: 'roce analyze' });
  const reader = new CaptureReader(copy);
  const output = new Output(out, copy);
  try {
    for await (const chunk of chunks) {
      reader.push(chunk);
      for (let packet = reader.next(); packet !== undefined; packet = reader.next()) {
        copy.keep(packet, comments.get(packet.number));
        const waits = output.added();
        if (waits !== undefined) await waits;
      }
      if (output.closed) break;
    }
    if (!output.closed) reader.end();
  } finally {
    await output.end();
  }
}

function eventText(event: TransportEvent): string {
  const words = eventWords(event);
  return words === '' ? event.kind : `${event.kind}, ${words}`;
}
