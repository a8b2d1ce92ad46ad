/**
 * The protocol rules that packets of a capture are checked against, as data. Owns texts, sources and severities; rows
 * of ref:conformance where they exist.
 */
import type { Severity } from '../types.ts';

/** A rule that packets may break. */
export interface Rule {
  /** Kebab case; findings are named `rule/` and this. */
  readonly id: string;
  /** What is right, one sentence. */
  readonly says: string;
  /** Where the rule is from. */
  readonly source: string;
  /** Of breaking it: an error draws a NAK or silence from a peer that checks. */
  readonly severity: Severity;
}

function rule(id: string, source: string, severity: Severity, says: string): Rule {
  return { id, source, severity, says };
}

/** All rules, by a short name. */
export const RULES = {
  longHeaders: rule(
    'long-headers',
    'ref:conformance#ANX-03, ANX-16',
    'warning',
    'Nothing is between the IP header and UDP: no IPv4 options, no IPv6 extension headers. No source says how an ICRC would cover them: it was not checked, and what is behind them was not analyzed. A receiver may drop such packets.',
  ),
  transportVersion: rule(
    'transport-version',
    'ref:conformance#PKT-05',
    'error',
    'The transport version in the BTH is 0; a packet with another one is dropped.',
  ),
  reservedOpcode: rule(
    'reserved-opcode',
    'ref:conformance#PKT-08',
    'error',
    'Reserved opcodes are not sent; one draws a NAK for an invalid request, or silence.',
  ),
  headerLength: rule(
    'header-length',
    'ref:conformance#PKT-12',
    'error',
    'A packet is long enough for the headers of its opcode, its pad and the ICRC.',
  ),
  udpLength: rule(
    'udp-length',
    'ref:conformance#PKT-13',
    'error',
    'The UDP length fits the IP length, and BTH and ICRC fit into it.',
  ),
  padMultiple: rule('pad', 'ref:conformance#LEN-14', 'error', 'Payload and pad together are a multiple of four bytes.'),
  noPayload: rule(
    'no-payload',
    'ref:conformance#LEN-09, MPE-01, MPE-09',
    'error',
    'READ requests, atomics, FLUSH and ACKs carry no payload, and ATOMIC WRITE exactly eight bytes.',
  ),
  messageSize: rule('message-size', 'ref:conformance#LEN-06', 'error', 'A message is at most 2^31 bytes long.'),
  atomicAlignment: rule(
    'atomic-alignment',
    'rxe:rxe_resp.c#atomic_reply',
    'error',
    'Atomics work on eight bytes at an address that is a multiple of eight.',
  ),
  opensInside: rule(
    'opcode-sequence',
    'ref:conformance#OPS-01, OPS-02, OPS-04, OPS-05, OPS-12, OPS-13',
    'error',
    'Between FIRST and LAST of a message there are only MIDDLE packets of the same operation.',
  ),
  nothingOpen: rule(
    'nothing-open',
    'ref:conformance#OPS-03',
    'error',
    'MIDDLE and LAST follow the FIRST of their message.',
  ),
  fullPackets: rule(
    'full-packets',
    'ref:conformance#LEN-01, LEN-08, LEN-13',
    'error',
    'FIRST and MIDDLE packets carry exactly the path MTU: 256, 512, 1024, 2048 or 4096 bytes, the same in all of them.',
  ),
  lastLength: rule(
    'last-length',
    'ref:conformance#LEN-02, LEN-03',
    'error',
    'LAST carries 1 byte up to the path MTU, ONLY none up to the path MTU.',
  ),
  writeLength: rule(
    'write-length',
    'ref:conformance#LEN-04, LEN-05',
    'error',
    'The payloads of a WRITE add up to the DMA length of its RETH.',
  ),
  changedRepetition: rule(
    'changed-repetition',
    'ref:rxe#8',
    'error',
    'A retransmitted request has the opcode and the length that it had before.',
  ),
  readResponseOpcode: rule(
    'read-response-opcode',
    'ref:conformance#RD-01, RD-02',
    'error',
    'READ responses go FIRST, MIDDLE, LAST, or ONLY, and fill the PSNs of their request.',
  ),
  readResponseLength: rule(
    'read-response-length',
    'ref:conformance#LEN-16, LEN-17',
    'error',
    'READ responses carry as many bytes as were requested, the path MTU in all but the last.',
  ),
  readResponseSyndrome: rule(
    'read-response-syndrome',
    'ref:conformance#RD-05',
    'error',
    'The AETH of a READ response or an atomic response is that of an ACK.',
  ),
  reservedSyndrome: rule(
    'reserved-syndrome',
    'ref:conformance#ACK-16, ACK-17',
    'warning',
    'Syndromes 0x40 to 0x5F and those beyond NAK code 4 are reserved.',
  ),
  msnOrder: rule(
    'msn',
    'ref:conformance#ACK-06',
    'warning',
    'The MSN grows with the messages completed and never falls.',
  ),
  afterFatalNak: rule(
    'after-fatal-nak',
    'ref:conformance#ACK-18',
    'warning',
    'After a NAK that ends the connection the responder acknowledges nothing more.',
  ),
  cnpFormat: rule(
    'cnp-format',
    'ref:conformance#CNP-01',
    'warning',
    'A CNP has PSN 0, solicited event 0 and 16 bytes of zeros.',
  ),
  managementFormat: rule(
    'management-format',
    'ref:wire#10',
    'error',
    'What goes to queue pair 1 is a datagram of 256 bytes with Q_Key 0x80010000.',
  ),
  pkey: rule(
    'p-key',
    'ref:conformance#PKQ-05',
    'error',
    'Both ends of a connection use the same partition: their P_Keys agree in the lower 15 bits, and one at least is a full member.',
  ),
  sourcePort: rule(
    'source-port',
    'ref:wire#2',
    'note',
    'The UDP source port of a queue pair stays as it is: another one may take another path, and packets overtake each other.',
  ),
  migReq: rule(
    'mig-req',
    'ref:wire#4',
    'note',
    'Both ends send the same MigReq bit, and keep it; some devices drop what differs from their own.',
  ),
  udpChecksum: rule(
    'udp-checksum',
    'ref:conformance#PKT-19',
    'note',
    'The UDP checksum is 0: the ICRC covers more than it could.',
  ),
} as const satisfies Readonly<Record<string, Rule>>;

/** All rules. */
export const RULE_LIST: readonly Rule[] = Object.values(RULES);
