/** Parts of the captures of rdma_rxe in test/vectors, as they are. Owns which parts. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { CorpusCapture } from '../capture.ts';
import { join } from '../wrap.ts';

/** Read from this repository. */
export function realCaptures(): readonly CorpusCapture[] {
  return PARTS.map(([name, source, first, last, about]) => ({
    file: `real/${name}.pcap`,
    about: `${about} (rdma_rxe of Linux ${source}, both ends)`,
    traffic: true,
    bytes: part(vector(`rxe-${source}.pcap`), first, last),
  }));
}

function vector(name: string): Uint8Array {
  return new Uint8Array(readFileSync(fileURLToPath(new URL(`../../../test/vectors/${name}`, import.meta.url))));
}

/** The file's header, and its packets from `first` to `last`, from 1. */
function part(bytes: Uint8Array, first: number, last: number): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const kept: Uint8Array[] = [bytes.subarray(0, FILE_HEADER_BYTES)];
  for (let at = FILE_HEADER_BYTES, n = 1; at < bytes.length && n <= last; n++) {
    const end = at + RECORD_HEADER_BYTES + view.getUint32(at + CAPTURED_AT, true);
    if (n >= first) kept.push(bytes.subarray(at, end));
    at = end;
  }
  return join(...kept);
}

/** Name, kernel, first and last frame, program. */
const PARTS: readonly (readonly [string, string, number, number, string])[] = [
  ['rping', '6.12', 15, 38, 'rping: ARP, connection, the first WRITEs, READs and SENDs'],
  ['udaddy', '6.12', 152, 159, 'udaddy: SIDR and datagrams with immediate data'],
  ['rdma-client', '6.12', 160, 169, 'rdma_client and rdma_server: a whole connection with two messages'],
  ['fetch-add', '6.12', 418, 468, 'ib_atomic_bw with fetch-and-add, and its TCP connection'],
  ['cmp-swap', '6.12', 469, 520, 'ib_atomic_bw with compare-and-swap, and its TCP connection'],
  ['ud-pingpong', '6.12', 735, 755, 'ibv_ud_pingpong, and its TCP connection'],
  ['uc-write', '6.12', 912, 950, 'ib_write_bw over UC, its beginning, and its TCP connection'],
];
const FILE_HEADER_BYTES = 24;
const RECORD_HEADER_BYTES = 16;
const CAPTURED_AT = 8;
