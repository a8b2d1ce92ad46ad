/**
 * What tshark says of captures: one run of it for all, since starting it takes longer than reading what a program
 * sends. Owns how frames of the whole are counted back to the capture they are of.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { eachTsharkRow } from '../../tshark.ts';

/** A capture, and how many frames it has. */
export interface CountedCapture {
  readonly capture: string;
  readonly frames: number;
}

/** What tshark found in one capture. */
export interface TsharkView {
  readonly roceFrames: number;
  /** Frames that it cannot read. */
  readonly malformed: number;
}

/**
 * One view for each capture, in their order.
 *
 * @param whole path of a file to write: sections of pcapng follow each other
 */
export async function viewsOfTshark(captures: readonly CountedCapture[], whole: string): Promise<TsharkView[]> {
  writeFileSync(whole, '');
  for (const { capture, frames } of captures) if (frames > 0) appendFileSync(whole, readFileSync(capture));
  const views = captures.map(() => ({ roceFrames: 0, malformed: 0 }));
  const ends = captures.map(({ frames }, at) => captures.slice(0, at).reduce((sum, one) => sum + one.frames, frames));
  let [row, capture] = [0, 0];
  await eachTsharkRow(whole, FIELDS, {}, ([opcode = '', malformed = '', ...icmp]) => {
    while (row >= (ends[capture] ?? Number.POSITIVE_INFINITY)) capture += 1;
    row += 1;
    const view = views[capture];
    if (view === undefined) return;
    // An error of ICMP quotes the packet that it is about: a host's kernel knows of no socket at port 4791.
    if (opcode !== '' && icmp.every((type) => type === '')) view.roceFrames += 1;
    if (malformed !== '') view.malformed += 1;
  });
  if (row !== (ends.at(-1) ?? 0)) throw new Error(`tshark reads ${row} frames where ${ends.at(-1)} are`);
  return views;
}

const FIELDS = ['infiniband.bth.opcode', '_ws.malformed', 'icmp.type', 'icmpv6.type'];
