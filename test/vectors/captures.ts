/** The captures of rdma_rxe beside this file; README.md says what was run. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

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
