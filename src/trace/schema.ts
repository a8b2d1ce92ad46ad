/**
 * The events of a trace file, as data: the source of `docs/trace.md`; tests compare the recorder with it.
 *
 * Owns names and fields. The file is qlog's sequence of JSON texts (draft-ietf-quic-qlog-main-schema: a header record,
 * then one record for each event with `time`, `name` and `data`) with events of our own in the namespace `roce`.
 */

/** Names the events below in the header of a file; the number changes when a reader would have to. */
export const TRACE_EVENT_SCHEMA = 'urn:rocev2:qlog:roce-1';

/** A field of an event. */
export interface TraceField {
  /** Key in `data`. */
  readonly name: string;
  /** Type in JSON; integers are numbers. */
  readonly type: 'integer' | 'number' | 'string' | 'boolean' | 'object';
  /** Present only where it applies. */
  readonly optional?: true;
  /** What it is, with its unit. */
  readonly meaning: string;
}

/** One kind of event. */
export interface TraceEventSchema {
  /** `roce:` and a word. */
  readonly name: string;
  /** When it is written. */
  readonly when: string;
  /** Of `data`. */
  readonly fields: readonly TraceField[];
}

const QPN: TraceField = { name: 'qpn', type: 'integer', meaning: 'number of the queue pair of this device' };
const PSN: TraceField = { name: 'psn', type: 'integer', meaning: 'PSN, 0..16777215' };

const PACKET: readonly TraceField[] = [
  { name: 'status', type: 'string', meaning: '`Ok`, or the first thing that is wrong with the frame' },
  { name: 'icrc', type: 'string', optional: true, meaning: '`good` or `bad`, of a RoCEv2 packet that is received' },
  { name: 'opcode', type: 'string', optional: true, meaning: 'name of the opcode, as Wireshark has it' },
  { name: 'dest_qpn', type: 'integer', optional: true, meaning: 'queue pair it is sent to' },
  { ...PSN, optional: true },
  { name: 'ack_req', type: 'boolean', optional: true, meaning: 'the AckReq bit' },
  {
    name: 'ecn',
    type: 'integer',
    optional: true,
    meaning: 'ECN of the IP header: 0 not ECT, 1 ECT(1), 2 ECT(0), 3 CE',
  },
  { name: 'payload_length', type: 'integer', optional: true, meaning: 'payload without pad, in bytes' },
  { name: 'syndrome', type: 'integer', optional: true, meaning: 'of the AETH' },
  { name: 'msn', type: 'integer', optional: true, meaning: 'of the AETH' },
  {
    name: 'raw',
    type: 'object',
    meaning:
      '`length`: bytes of the frame; `data`: its headers in hex; `medium`: `ethernet` or `ip`, what they begin with',
  },
];

/** All events. */
export const TRACE_EVENTS: readonly TraceEventSchema[] = [
  { name: 'roce:packet_sent', when: 'a frame was given to the link', fields: PACKET },
  { name: 'roce:packet_received', when: 'a frame came from the link, before anything is done with it', fields: PACKET },
  {
    name: 'roce:state_updated',
    when: 'a queue pair changed its state',
    fields: [
      QPN,
      { name: 'old', type: 'string', meaning: 'state before: RESET, INIT, RTR, RTS, SQD, SQE or ERR' },
      { name: 'new', type: 'string', meaning: 'state now' },
    ],
  },
  {
    name: 'roce:acknowledged',
    when: 'the peer acknowledged something new',
    fields: [
      QPN,
      { ...PSN, meaning: 'everything before this PSN is acknowledged' },
      { name: 'outstanding', type: 'integer', meaning: 'packets sent and not acknowledged' },
    ],
  },
  {
    name: 'roce:went_back',
    when: 'a requester sends again from a PSN on',
    fields: [
      QPN,
      PSN,
      { name: 'trigger', type: 'string', meaning: '`timeout`, `nak` (spoken or implied) or `migration` (of the path)' },
      { name: 'retries_left', type: 'integer', meaning: 'how many times more it may' },
    ],
  },
  {
    name: 'roce:rnr_wait',
    when: 'the peer was not ready, and nothing is sent for a while',
    fields: [QPN, PSN, { name: 'wait', type: 'number', meaning: 'how long, in milliseconds' }],
  },
  {
    name: 'roce:request_judged',
    when: 'a responder did something else with a request than to execute it',
    fields: [
      QPN,
      PSN,
      {
        name: 'judgement',
        type: 'string',
        meaning: '`duplicate`, `out-of-sequence`, `dropped`, `not-ready` or `refused`',
      },
    ],
  },
  {
    name: 'roce:completed',
    when: 'a work request completed',
    fields: [
      QPN,
      { name: 'wr_id', type: 'integer', meaning: 'number that the application gave it' },
      { name: 'opcode', type: 'string', meaning: 'kind of work: `Send`, `RdmaWrite`, `Recv`...' },
      { name: 'status', type: 'string', meaning: 'status of the completion, in words' },
      { name: 'byte_length', type: 'integer', meaning: 'bytes received or read' },
    ],
  },
  { name: 'roce:notified', when: 'a congestion notification was acted upon', fields: [QPN] },
  {
    name: 'roce:rate_updated',
    when: 'the rate of a queue pair changed; reported with the next packet it sends',
    fields: [
      QPN,
      { name: 'rate', type: 'number', meaning: 'bits a second now' },
      { name: 'target', type: 'number', meaning: 'bits a second that the recovery aims at' },
      { name: 'alpha', type: 'number', meaning: 'congestion estimate of DCQCN, 0..1' },
    ],
  },
];
