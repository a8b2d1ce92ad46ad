/** The captures of rdma_rxe beside this file; README.md says what was run. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { readCapture } from '../../pcap/reader.ts';
import type { CapturedPacket } from '../../pcap/types.ts';

/** One for each kernel. */
export const RXE_CAPTURES = ['rxe-6.1.pcap', 'rxe-6.12.pcap'] as const;

export type RxeCapture = (typeof RXE_CAPTURES)[number];

/** Where the file is, for programs that open it themselves. */
export function rxeCapturePath(name: RxeCapture): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

/** The file's bytes. */
export function rxeCapture(name: RxeCapture): Uint8Array {
  return new Uint8Array(readFileSync(rxeCapturePath(name)));
}

const PEERS = fileURLToPath(new URL('peers/', import.meta.url));

/** Captures of programs of others on a sound wire, by file name. */
export const PEER_CAPTURES: readonly string[] = readdirSync(PEERS).sort();

/** Where the file is; tshark opens it as it is. */
export function peerCapturePath(name: string): string {
  return `${PEERS}${name}`;
}

/** Its packets. */
export function peerPackets(name: string): CapturedPacket[] {
  return [...readCapture(gunzipSync(readFileSync(peerCapturePath(name))))];
}
