/**
 * What a device is known to do otherwise, as data: a difference that a switch explains is reported as the deviation it
 * is, and hides no other. Owns names, rules and evidence of the switches; the models ask for them by name.
 */

/** One known deviation, or one liberty that the rules leave open and a device takes. */
export interface Switch {
  /** The rule that the device breaks with it. */
  readonly ruleId: string;
  /** What the device does. */
  readonly says: string;
  /** Where that can be seen. */
  readonly evidence: string;
}

export const SWITCHES = {
  'read-tail-continues': {
    ruleId: 'RD-09',
    says: 'the tail of a resent READ begins with MIDDLE or LAST',
    evidence: 'rxe_resp.c#read_reply',
  },
  'nak-after-rnr': {
    ruleId: 'RNR-06',
    says: 'a packet behind one that was refused for lack of a receive draws NAK 0x60',
    evidence: 'rxe_resp.c#check_psn',
  },
  'send-length-unchecked': {
    ruleId: 'LEN-01',
    says: 'a SEND packet of any size is taken in any position',
    evidence: 'rxe_resp.c#check_length before the rewrite of 2023',
  },
  'write-length-residual': {
    ruleId: 'LEN-01',
    says: 'a WRITE packet is measured by what the message still has to bring, not by its opcode',
    evidence: 'rxe_resp.c#check_rkey',
  },
  'send-pad-believed': {
    ruleId: 'LEN-07',
    says: 'the pad count of a SEND is believed, whatever it makes of the length',
    evidence: 'rxe_resp.c#check_rkey looks at WRITE only',
  },
  'payload-on-read-ignored': {
    ruleId: 'LEN-09',
    says: 'payload behind a READ or ATOMIC is not looked at',
    evidence: 'ref:conformance#LEN-09',
  },
  'payload-on-flush-ignored': {
    ruleId: 'MPE-01',
    says: 'payload behind a FLUSH is not looked at',
    evidence: 'ref:conformance#MPE-01',
  },
  'replayed-by-psn': {
    ruleId: 'ATM-07',
    says: 'a duplicate of another opcode than was executed at its PSN is answered all the same, as its own opcode is',
    evidence: 'rxe_resp.c#duplicate_request, find_resource',
  },
  'read-replayed-anywhere': {
    ruleId: 'RD-10',
    says: 'a duplicate READ of any part of the original is answered, whether or not the part stands at that PSN',
    evidence: 'rxe_resp.c#duplicate_request',
  },
  'empty-read-not-replayed': {
    ruleId: 'RD-07',
    says: 'a duplicate of a READ of no bytes is not answered',
    evidence: 'lab, 6.12.107: conformance property responder-duplicates',
  },
  'read-replay-nak': {
    ruleId: 'RSP-PSN-15',
    says: 'a duplicate READ behind a request of no bytes draws NAK 0x62 and ends the queue pair',
    evidence:
      'rxe_resp.c#read_reply takes resp.length of the request before; lab, 6.12.107: conformance property responder-duplicates',
  },
  'read-replay-moves': {
    ruleId: 'RD-07',
    says: 'after a part of a READ was asked for again, the whole is no longer answered',
    evidence: 'rxe_resp.c#duplicate_request sets va_org',
  },
  'failed-invalidate-acked': {
    ruleId: 'KEY-15',
    says: 'a SEND whose invalidate fails is acknowledged, and the queue pair dies',
    evidence: 'lab, 6.12.107: conformance property responder-faults; rxe_resp.c#do_complete goes on to acknowledge',
  },
  'first-ack-from-zero': {
    ruleId: 'RSP-PSN-11',
    says: 'a duplicate that comes before any SEND or WRITE was executed is acknowledged by PSN 0xFFFFFF, wherever the connection began',
    evidence: 'lab, 6.12.107: conformance property responder-duplicates; resp.ack_psn is not set with rq_psn',
  },
  'reserved-dropped': {
    ruleId: 'PKT-08',
    says: 'a reserved opcode draws no NAK: it is dropped',
    evidence: 'rxe_opcode.c has no entry for it',
  },
  'flush-dropped': {
    ruleId: 'MPE-02',
    says: 'a FLUSH with a right ICRC is dropped: the device has a recipe of its own for it',
    evidence: 'packets/rxe-flush-icrc.ts',
  },
  'fenced-retry-stuck': {
    ruleId: 'REQ-30',
    says: 'a fenced work request that has to be sent again waits for READs and atomics that are behind it, or for itself, infinitely',
    evidence: 'rxe_req.c#rxe_wqe_is_fenced counts those that are open, its own among them',
  },
  'ack-beyond-completes': {
    ruleId: 'REQ-09',
    says: 'an ACK of a PSN that was never sent completes what is open',
    evidence: 'rxe_comp.c#check_psn has no upper bound',
  },
  'ack-in-read-completes': {
    ruleId: 'REQ-13',
    says: 'a plain ACK inside of a READ counts as its data: of the last PSN it completes it, of another it moves what is asked for next',
    evidence: 'rxe_comp.c#check_ack goes to COMPST_WRITE_SEND whatever the work request is',
  },
  'ack-in-read-fatal': {
    ruleId: 'REQ-10',
    says: 'any ACK or NAK between the responses of a READ ends the queue pair, and the READ completes with success',
    evidence: 'lab, 6.12.107: conformance property requester-loss; rxe_comp.c#check_ack and its state -1',
  },
  'ack-while-repeating-lost': {
    ruleId: 'REQ-01',
    says: 'an ACK of what is just being sent again completes nothing, and at the next timeout an empty SEND or WRITE takes the PSN behind it',
    evidence: 'rxe_comp.c#rxe_completer at WRITE_SEND, rxe_req.c#req_retry; case REQ-01',
  },
  'reserved-syndrome-fatal': {
    ruleId: 'ACK-16',
    says: 'a reserved syndrome completes the oldest work request, with success unless another status was set, and ends the queue pair',
    evidence: 'rxe_comp.c#check_ack goes to COMPST_ERROR and leaves the status as it is',
  },
  'reserved-nak-fatal': {
    ruleId: 'ACK-17',
    says: 'a reserved NAK code fails the work request',
    evidence: 'rxe_comp.c#check_ack',
  },
} as const satisfies Readonly<Record<string, Switch>>;

export type SwitchName = keyof typeof SWITCHES;

export type ProfileName = 'strict' | 'rxe-6.1' | 'rxe-6.12';

/** A kind of device. */
export interface Profile {
  readonly name: string;
  /** Deviations that are known and therefore expected as much as the right answer is. */
  readonly switches: readonly SwitchName[];
  /**
   * Reserved opcodes, addresses that wrap and wrong sizes of ATOMIC WRITE are not sent: a device may not survive them.
   */
  readonly fragile: boolean;
}

const RXE: readonly SwitchName[] = [
  ...(['read-tail-continues', 'nak-after-rnr', 'write-length-residual', 'send-pad-believed'] as const),
  ...(['payload-on-read-ignored', 'payload-on-flush-ignored', 'flush-dropped', 'reserved-dropped'] as const),
  ...(['replayed-by-psn', 'read-replayed-anywhere', 'read-replay-moves', 'read-replay-nak'] as const),
  ...(['empty-read-not-replayed', 'fenced-retry-stuck', 'failed-invalidate-acked', 'first-ack-from-zero'] as const),
  ...(['ack-beyond-completes', 'ack-in-read-completes', 'ack-in-read-fatal', 'ack-while-repeating-lost'] as const),
  ...(['reserved-syndrome-fatal', 'reserved-nak-fatal'] as const),
];

export const PROFILES: Readonly<Record<ProfileName, Profile>> = {
  /** The rules, and nothing else. */
  strict: { name: 'strict', switches: [], fragile: false },
  'rxe-6.1': { name: 'rxe-6.1', switches: [...RXE, 'send-length-unchecked'], fragile: true },
  'rxe-6.12': { name: 'rxe-6.12', switches: RXE, fragile: true },
};
