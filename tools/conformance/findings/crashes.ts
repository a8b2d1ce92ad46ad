/** Findings that end a kernel, or hang it. */
import { ALL_KERNELS, type Finding, NEWER_KERNELS } from './types.ts';

const UNSET_QP =
  'rxe_recv.c#rxe_rcv: the two checks before `pkt->qp = NULL` go to `drop`, which releases `pkt->qp`. The packet information lies in skb->cb, where the ' +
  'IP stack has left its own: at that offset IPv6 has the offset of a next header (the pointer reads 0x0006000000000000), IPv4 the length of its options. ' +
  '`__rxe_put` follows it in softirq context: panic. ';

export const CRASHES: readonly Finding[] = [
  {
    name: 'PKT-12-short-datagram-ipv6',
    rule: 'PKT-12',
    title: 'an empty UDP datagram over IPv6 panics the kernel',
    severity: 'crash',
    kernels: ALL_KERNELS,
    security:
      'anybody who can send one UDP datagram to port 4791 of an IPv6 address of the host; no connection, no key, no privilege',
    happens:
      'One UDP datagram over IPv6 with 0 to 11 bytes of data to port 4791 of a host that has an rxe device panics its kernel. 12 bytes do not.',
    source: `${UNSET_QP}Setting pkt->qp before the first check cures it.`,
    users: 'Any host with an rxe device and an IPv6 address that others reach can be switched off from afar.',
    since: 'The first check has been there in every version that was read.',
  },
  {
    name: 'PKT-12-short-datagram-ip-options',
    rule: 'PKT-12',
    title: 'an empty UDP datagram with IPv4 options panics the kernel',
    severity: 'crash',
    kernels: ALL_KERNELS,
    security: 'as the one before, over IPv4, wherever packets with IP options are let through',
    happens:
      'One UDP datagram over IPv4 with any options (four bytes of NO OPERATION will do) and less than 12 bytes of data panics the kernel. Without options it is dropped.',
    source: UNSET_QP.trimEnd(),
    users:
      'A host without IPv6 is open to it too, at least from its own network: routers on the way often drop packets with options.',
  },
  {
    name: 'PKT-13-udp-length-8',
    rule: 'PKT-13',
    title: 'a whole packet whose UDP length is 8 panics the kernel',
    severity: 'crash',
    kernels: ALL_KERNELS,
    security: 'as the first one: one datagram over IPv6',
    happens: 'Over IPv6 the network stack cuts the packet to what its UDP header says; what is left is empty.',
    source: `${UNSET_QP}A broken switch or a flipped bit in the UDP length does the same (PKT-03).`,
    users:
      'It takes no ill will: one damaged bit of the UDP length, where nothing checks the UDP checksum (RoCEv2 sends 0), ends the host.',
  },
  {
    name: 'PKT-11-address-without-gid',
    rule: 'PKT-11',
    title: 'a packet to an address of the host that is no GID panics the kernel',
    severity: 'crash',
    kernels: ALL_KERNELS,
    security:
      'anybody who can send one UDP datagram to port 4791 of an IPv6 address of the host that is not one of the device',
    byRule: true,
    command: 'npx vitest run --config vitest.long.config.ts test/tools/conformance/findings/no-gid.long.test.ts',
    happens:
      'A whole and correct packet over IPv6 (over IPv4: with IP options) that arrives at the device but is for an address of another interface of the host, of its loopback for one, panics the kernel.',
    source: `${UNSET_QP}Here it is the second check, rxe_recv.c#rxe_chk_dgid.`,
    users:
      'Hosts with several interfaces, or service addresses on loopback: a peer with a wrong route or a stale address is enough.',
  },
  {
    name: 'KEY-15-invalidate-unbound-window',
    rule: 'KEY-15',
    title: 'invalidating a window that is bound to nothing kills the kernel',
    severity: 'crash',
    kernels: ALL_KERNELS,
    security:
      'a connected peer that knows or guesses the key of a window of type 2 that is not bound: 24 bits of index count up, 8 bits are by chance, and each wrong guess costs a connection',
    happens:
      'A SEND with invalidate that names a window which was never bound, or was invalidated already (the same SEND twice with another PSN), makes the kernel follow a null pointer.',
    source:
      'rxe_mw.c#rxe_check_invalidate_mw lets a free window pass where the type and the domain fit; #rxe_do_invalidate_mw takes for granted that it has a queue pair and a region.',
    users: 'Storage servers that lend windows (type 2) to clients they do not trust can be ended by any of them.',
  },
  {
    name: 'MPE-13-flush-without-resources',
    rule: 'MPE-13',
    title: 'a FLUSH to a queue pair without responder resources oopses the kernel',
    severity: 'crash',
    kernels: NEWER_KERNELS,
    security: 'a connected peer of a queue pair with max_dest_rd_atomic 0 that allows FLUSH',
    happens:
      'The kernel writes to an address near 0 in a worker, and oopses; the queue pair and all that waits for it hang from then on.',
    source:
      'rxe_resp.c#check_resource does not count a FLUSH as an operation that takes a resource; #rxe_prepare_res then takes one of an array of none, whose address is ZERO_SIZE_PTR (rxe_qp.c#alloc_rd_atomic_resources, kcalloc of 0), or NULL.',
    users: 'Who allows FLUSH and serves no READs can be stopped by a peer.',
    since: 'FLUSH came with 6.2.',
  },
  {
    name: 'KEY-19-destroy-with-a-window',
    rule: 'KEY-19',
    title: 'a queue pair with a bound window cannot be destroyed',
    severity: 'crash',
    kernels: ALL_KERNELS,
    byRule: true,
    happens:
      'ibv_destroy_qp waits for 50 s without being interruptible, then fails; a process that exits hangs as long.',
    source:
      'rxe_mw.c#rxe_do_bind_mw takes a reference on the queue pair that only an invalidation gives back; rxe_pool.c#__rxe_cleanup waits for it.',
    users:
      'Programs that bind windows of type 2 must invalidate each of them before they destroy its queue pair, also when they end by a fault.',
  },
  {
    name: 'CM-25-large-mad',
    rule: 'CM-25',
    title: 'a MAD of 257 bytes silences the connection manager',
    severity: 'crash',
    kernels: ['6.1'],
    byRule: true,
    security: 'anybody who can send one UDP datagram to the host: the Q_Key of QP1 is the same everywhere',
    happens:
      'QP1 goes to ERROR. Nobody can connect to the host by the connection manager until the device is made anew.',
    source:
      'rxe_resp.c#check_length and rxe_mr.c#copy_data, as UD-05: QP1 has receives of 296 bytes, and a larger datagram is taken for a malformed receive.',
    users: 'On 6.1 one packet takes a host out of the network of all that connect with librdmacm.',
    since: 'The fix of CVE-2024-40992 is not in 6.1.192.',
  },
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
