/** Findings that ended a kernel, and are fixed in public. Those that are not: withheld.ts. */
import type { RxeFinding } from './types.ts';

export const CRASHES: readonly RxeFinding[] = [
  {
    name: 'PKT-01-unknown-opcode',
    rule: 'PKT-01',
    title: 'an opcode that does not exist panicked the kernel',
    severity: 'crash',
    kernels: [],
    security: 'known and fixed (CVE-2026-46133); a peer that knows the number of a queue pair',
    happens: 'The ICRC of a packet with an opcode of no entry was computed over 2^64 - 12 bytes.',
    source: 'rxe_icrc.c#rxe_icrc_hdr subtracts the length of a BTH from a header length of 0.',
    users: 'Kernels older than the fix panic.',
    since: 'Seen on 6.1.170. The change logs of Debian name the fix (4c6f86d upstream) in 6.1.176 and 6.12.88.',
  },
  {
    name: 'PKT-12-pad-underflow',
    rule: 'PKT-12',
    title: 'a packet without room for its ICRC panicked the kernel',
    severity: 'crash',
    kernels: [],
    security: 'known and fixed (CVE-2026-46043); a peer that knows the number of a queue pair',
    happens: 'The length of the payload came out negative, and the ICRC was computed over all that there is.',
    source:
      'rxe_recv.c#rxe_rcv compared the length with the headers alone; rxe_hdr.h#payload_size subtracts pad and ICRC too.',
    users: 'Kernels older than the fix panic.',
    since: 'Seen on 6.1.170. The change logs of Debian name the fix in 6.1.176 and 6.12.86.',
  },
];
