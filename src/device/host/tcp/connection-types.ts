/** Types of a TCP connection: its states (RFC 9293 section 3.3.2), its ends, and what it is made with. Types only. */

export type TcpState =
  | 'syn-sent'
  | 'syn-received'
  | 'established'
  | 'fin-wait-1'
  | 'fin-wait-2'
  | 'close-wait'
  | 'closing'
  | 'last-ack'
  | 'time-wait'
  | 'closed';

/** Why there is no connection any more. */
export type TcpEnd = 'finished' | 'aborted' | 'refused' | 'reset' | 'timeout';

export interface TcpConnectionOptions {
  /** Initial send sequence, 32 bits, as unpredictable as the host can make it. */
  readonly iss: number;
  /** Bytes of data in the largest segment this link takes. */
  readonly mss: number;
  /** Segment size for a peer without the option: 536 over IPv4, 1220 over IPv6 (RFC 9293 3.7.1). */
  readonly defaultMss: number;
  /** Repetitions of a SYN or SYN-ACK that stays without an answer. */
  readonly maxSynRetries: number;
}
