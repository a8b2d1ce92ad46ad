/**
 * Cuts `rxe-sample.pcap` out of the captures of rdma_rxe and writes what tshark says of it beside it, one JSON object a
 * frame (the committed one by tshark 4.0.17).
 *
 * For each capture: the shortest frame of each opcode (of QP 1: of each management attribute), the first ARP request
 * and reply, the first neighbour solicitation and the first TCP segment. Records are copied byte for byte, time stamps
 * included.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { tsharkAvailable, tsharkRows } from '../../tools/tshark.ts';
import { allTsharkFrames, type TsharkFrame } from '../../tools/verify/index.ts';
import { RXE_CAPTURES, rxeCapturePath } from './captures.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const PCAP_HEADER_BYTES = 24;
const RECORD_HEADER_BYTES = 16;

async function main(): Promise<void> {
  const parts: Uint8Array[] = [];
  for (const name of RXE_CAPTURES) {
    const file = rxeCapturePath(name);
    const bytes = readFileSync(file);
    const wanted = await wantedFrames(file);
    if (parts.length === 0) parts.push(bytes.subarray(0, PCAP_HEADER_BYTES));
    let number = 0;
    for (let at = PCAP_HEADER_BYTES; at < bytes.length; ) {
      const end = at + RECORD_HEADER_BYTES + bytes.readUInt32LE(at + 8);
      if (wanted.has(++number)) parts.push(bytes.subarray(at, end));
      at = end;
    }
  }
  const pcap = here('./rxe-sample.pcap');
  writeFileSync(pcap, Buffer.concat(parts));
  const frames = await allTsharkFrames(pcap);
  writeFileSync(here('./rxe-sample.ndjson'), frames.map((frame) => `${JSON.stringify(keep(frame))}\n`).join(''));
  process.stdout.write(`${frames.length} frames, described by tshark ${tsharkAvailable().version}\n`);
}

async function wantedFrames(file: string): Promise<Set<number>> {
  const fields = [
    'frame.number',
    'frame.len',
    'frame.protocols',
    'infiniband.bth.opcode',
    'infiniband.mad.attributeid',
  ];
  const kinds = new Map<string, { number: number; length: number }>();
  for (const row of await tsharkRows(file, [...fields, 'arp.opcode', 'icmpv6.type'])) {
    const value = (name: string) => row.get(name)?.[0] ?? '';
    const protocols = value('frame.protocols').replace(':data', '');
    const isRoce = protocols.includes('infiniband');
    const kind = [protocols, ...fields.slice(3).map(value), value('arp.opcode'), value('icmpv6.type')].join(' ');
    const found = { number: Number(value('frame.number')), length: Number(value('frame.len')) };
    const known = kinds.get(kind);
    if (known === undefined || (isRoce && found.length < known.length)) kinds.set(kind, found);
  }
  return new Set([...kinds.values()].map(({ number }) => number));
}

/** Without names that depend on tshark's tables of vendors, and without what is relative to other frames. */
function keep(frame: TsharkFrame): TsharkFrame {
  const dropped =
    /resolved|oui|\.lg$|\.ig$|_host$|\.host$|\.addr|\.stream|udp\.port$|udp\.payload|time_|smpdata|mad\.data$|^tcp\.(?!srcport$|dstport$)/;
  // Of long payloads the length is enough here: the bytes would only fill the file.
  return Object.fromEntries(
    Object.entries(frame).filter(([name, value]) => !dropped.test(name) && !isLong(name, value)),
  );
}

function isLong(name: string, value: string | readonly string[]): boolean {
  return name === 'data.data' && value.length > 400;
}

await main();
