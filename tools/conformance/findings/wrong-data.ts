/** Findings where a program gets a wrong result, or memory is open that must not be. */
import { ALL_KERNELS, NEWER_KERNELS, type RxeFinding } from './types.ts';

export const WRONG_DATA: readonly RxeFinding[] = [
  {
    name: 'KEY-20-domains-of-windows',
    rule: 'KEY-20',
    title: 'windows are bound across protection domains',
    severity: 'wrong data',
    kernels: ['6.1', 'sid'],
    byRule: true,
    security: 'a local program with two protection domains, or a library that trusts in their separation',
    happens: 'A window of one protection domain is bound to a region of another one.',
    source:
      'rxe_mw.c#rxe_check_bind_mw compares the domains of queue pair and window for type 2 only, and never that of the region.',
    users: 'Protection domains do not hold where windows are bound.',
    since: 'Fixed by commit fbbe1d5cd7d4, which is in 6.12.117 and not yet in 6.1.192 and 7.2.13.',
  },
  {
    name: 'REQ-09-ack-of-the-future',
    rule: 'REQ-09',
    title: 'an ACK for what was never sent completes work',
    severity: 'wrong data',
    kernels: ALL_KERNELS,
    happens: 'SENDs and WRITEs under way complete with success without having been acknowledged; READs are repeated.',
    source: 'rxe_comp.c#check_psn has no upper bound for the PSN of a response.',
    users:
      'One stray or forged ACK (its queue pair number and addresses must fit) and a program believes that its data has arrived.',
  },
  {
    name: 'REQ-10-old-ack-inside-a-read',
    rule: 'REQ-10',
    title: 'a repeated ACK ends a READ as success without its data',
    severity: 'wrong data',
    kernels: NEWER_KERNELS,
    happens:
      'When an ACK of the past arrives between two responses of a READ, the next response is refused; the READ completes with IBV_WC_SUCCESS, the rest of its buffer is what it was, and the queue pair is in ERROR. ACK-13 is the same from the side of who repeats an ACK.',
    source:
      'rxe_comp.c#check_psn lets the ACK through and #check_ack forgets that a READ is open; #rxe_completer ends the work request with a status that was never set.',
    users:
      'Responders may repeat their last ACK at any time, and networks reorder: a program on rxe then reads old memory and takes it for the answer.',
    since: '6.1 does not do it.',
  },
  {
    name: 'REQ-13-ack-instead-of-a-read-response',
    rule: 'REQ-13',
    title: 'a plain ACK counts as the response of a READ',
    severity: 'wrong data',
    kernels: ALL_KERNELS,
    happens:
      'A READ completes with success without any data. (6.1 ends one of several packets so at its first PSN, with the queue pair in ERROR.)',
    source: 'rxe_comp.c#check_ack does not compare the opcode of the answer with that of the request.',
    users: 'A program takes what was in its buffer for remote data.',
  },
  {
    name: 'REQ-05-ack-instead-of-an-atomic-answer',
    rule: 'REQ-05',
    title: 'a plain ACK completes an ATOMIC',
    severity: 'wrong data',
    kernels: ALL_KERNELS,
    happens: 'The ATOMIC completes with success, and the buffer for the old value is untouched.',
    source: 'rxe_comp.c#check_ack, as REQ-13.',
    users: 'A lock taken by compare and swap may be believed to be held when it is not.',
  },
  {
    name: 'REQ-31-wrong-response',
    rule: 'REQ-31',
    title: 'a response of another kind ends a READ as success',
    severity: 'wrong data',
    kernels: ALL_KERNELS,
    happens:
      'An ATOMIC ACKNOWLEDGE, or a MIDDLE without a FIRST, ends the READ with IBV_WC_SUCCESS and moves the queue pair to ERROR.',
    source:
      'rxe_comp.c#check_ack returns an error, and #rxe_completer ends the work request with a status that was never set.',
    users: 'A broken peer looks like one that works, but for the queue pair that is in ERROR afterwards.',
  },
  {
    name: 'REQ-01-empty-message',
    rule: 'REQ-01',
    title: 'an ACK that comes while packets are sent again ends in an empty message that was never posted',
    severity: 'wrong data',
    kernels: NEWER_KERNELS,
    byRule: true,
    happens:
      'A message is being sent again, after a timeout or a NAK, and the ACK of its first transmission arrives before its last packet is out. With another message open behind it, the next timeout sends an empty SEND or WRITE under the PSN of that other message, which itself goes out under the PSN behind.',
    source:
      'rxe_comp.c#rxe_completer at WRITE_SEND: a work request that is being sent (processing, not pending) is not completed, but comp.psn moves behind it; rxe_req.c#req_retry then skips all of its data and takes comp.psn for the PSN of what is left.',
    users:
      'A responder that is slower than the ACK timeout, or one lost packet, is enough. The peer takes the empty SEND for the next message: a receive is consumed, and the stream of messages is off by one. The sender ends with IBV_WC_RETRY_EXC_ERR for a message that was acknowledged.',
    since:
      'The source of 6.1 has the same lines, but its requester and completer are tasks of their own: not seen there.',
  },
  {
    name: 'REQ-07-ack-while-it-repeats',
    rule: 'REQ-07',
    title: 'an ACK that comes while packets are sent again completes nothing',
    severity: 'wrong data',
    kernels: NEWER_KERNELS,
    happens:
      'As the one before, with no message behind: nothing is sent again, and the work request does not complete before a later one is acknowledged.',
    source: 'rxe_comp.c#rxe_completer at WRITE_SEND, and at ERROR_RETRY: all that was sent seems to be acknowledged.',
    users: 'A program waits without end for a completion; its data has long arrived.',
    since: 'Not seen on 6.1: as the one before.',
  },
  {
    name: 'LEN-04-message-that-ends-short',
    rule: 'LEN-04',
    title: 'a WRITE that ends short is acknowledged',
    severity: 'wrong data',
    kernels: ALL_KERNELS,
    happens: 'A LAST of one path MTU ends a message whose RETH announced more: ACK, as if it were whole.',
    source: 'rxe_resp.c#check_rkey compares each packet with the path MTU or with what is left, whatever its opcode.',
    users: 'When a faulty sender loses packets in the middle, neither side notices.',
  },
  {
    name: 'LEN-08-pad-of-a-first',
    rule: 'LEN-08',
    title: 'a pad count in a SEND FIRST is believed',
    severity: 'wrong data',
    kernels: ALL_KERNELS,
    happens: 'The bytes that the pad count names are left out of the message.',
    source: 'rxe_resp.c#check_rkey looks at the pad of WRITEs only.',
    users: 'A message is shorter than its sender meant, without an error.',
  },
  {
    name: 'RD-10-replay-beyond-the-read',
    rule: 'RD-10',
    title: 'a replayed READ is served beyond what was asked for',
    severity: 'wrong data',
    kernels: ALL_KERNELS,
    happens:
      'After one partial replay the device serves the length of the first request from the new address, beyond its end.',
    source: 'rxe_resp.c#duplicate_request compares with bounds that it has moved itself.',
    users: 'The region still bounds it. Responses go beyond the PSNs that the READ has.',
  },
  {
    name: 'KEY-15-acknowledged-in-vain',
    rule: 'KEY-15',
    title: 'a SEND whose invalidation fails is acknowledged',
    severity: 'wrong data',
    kernels: ALL_KERNELS,
    happens: 'The requester gets an ACK; the receive of the responder ends in error, and its queue pair goes to ERROR.',
    source: 'rxe_resp.c#acknowledge sends the syndrome that is left from before.',
    users: 'The requester counts a message as delivered that its peer never saw.',
  },
];
