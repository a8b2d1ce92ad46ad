/**
 * What kind of peer a queue pair is connected to, as data: what we send to it and what we expect of it, each entry with
 * its source.
 * Owns the values; queue pairs read them. The default works with every peer here: the others are for imitating a peer,
 * for tests against one, and for refusing beforehand what one does not support.
 */
import { RoceError } from '../packets/errors.ts';

/** A choice and where it comes from. */
export interface Sourced<T> {
  /** The choice. */
  readonly value: T;
  /** A page of the reference, a function of rxe, or "project" for a choice of ours. */
  readonly source: string;
}

/** One kind of peer. */
export interface PeerProfile {
  /** Its name, as options give it. */
  readonly name: string;
  /** One line on the peer. */
  readonly about: string;
  /** The MigReq bit of the packets we send. */
  readonly migReq: Sourced<0 | 1>;
  /** At least every so many packets of ours request an ACK, 1 or more; the last of a message always does. */
  readonly ackInterval: Sourced<number>;
  /**
   * Whether our ACKs carry end-to-end credits where both sides agreed on flow control, and whether theirs are heeded.
   */
  readonly credits: Sourced<boolean>;
  /** What `retry_cnt` 7 means to our requester: seven retries, or infinitely many. */
  readonly retryCnt7: Sourced<'seven' | 'for-ever'>;
  /** When a gap inside the responses of one READ makes our requester retransmit. */
  readonly readGap: Sourced<'at-once' | 'at-timeout'>;
  /** Whether the peer supports FLUSH and ATOMIC WRITE; posting one to a peer that does not is refused. */
  readonly flushAndAtomicWrite: Sourced<boolean>;
  /**
   * With which ICRC a FLUSH leaves: the right one, the one of rdma_rxe, or the other one whenever one goes unanswered.
   */
  readonly flushIcrc: Sourced<'right' | 'rxe' | 'in-turn'>;
  /** Whether the peer supports XRC. */
  readonly xrc: Sourced<boolean>;
}

const EVERY_32 = { value: 32, source: 'project: half of what rxe lets pass unasked (ref:rxe#6)' } as const;
const EVERY_64 = { value: 64, source: 'ref:rxe#6, rxe:rxe_req.c (RXE_MAX_PKT_PER_ACK)' } as const;
const AT_ONCE = { value: 'at-once', source: 'ref:rxe#15 (strict-spec), project' } as const;

const DEFAULT: PeerProfile = {
  name: 'default',
  about: 'any peer: sends what all of them take, takes what any of them sends',
  migReq: { value: 1, source: 'ref:wire#4: hardware sends 1, and rxe takes both' },
  ackInterval: EVERY_32,
  credits: { value: true, source: 'project: only where the connection manager has agreed on flow control' },
  retryCnt7: { value: 'seven', source: 'ref:rxe#8: only rnr_retry 7 is infinite' },
  readGap: AT_ONCE,
  flushAndAtomicWrite: { value: true, source: 'project: a peer that does not know them answers NAK invalid request' },
  flushIcrc: { value: 'in-turn', source: 'project: finds out what the peer takes (packets/rxe-flush-icrc.ts)' },
  xrc: { value: true, source: 'project: a peer that does not know it stays silent' },
};

const RXE_6_1: PeerProfile = {
  ...DEFAULT,
  name: 'rxe-6.1',
  about: 'Linux rdma_rxe up to 6.1: imitates its requester',
  migReq: { value: 0, source: 'ref:rxe#6, rxe:rxe_hdr.h (never sets BTH_MIG)' },
  ackInterval: EVERY_64,
  credits: { value: false, source: 'ref:rxe#7: AETH_ACK_UNLIMITED always' },
  retryCnt7: { value: 'for-ever', source: 'ref:rxe#8, rxe:rxe_comp.c (COMPST_ERROR_RETRY)' },
  readGap: { value: 'at-timeout', source: 'ref:rxe#8: a gap inside one READ waits for the ACK timer' },
  flushAndAtomicWrite: { value: false, source: 'ref:rxe#3: since 6.2-6.8' },
  xrc: { value: false, source: 'ref:rxe#3: not in any version read' },
};

const RXE_6_12: PeerProfile = {
  ...RXE_6_1,
  name: 'rxe-6.12',
  about: 'Linux rdma_rxe of 6.2 to 6.12: imitates its requester',
  flushAndAtomicWrite: { value: true, source: 'ref:rxe#10, rxe:rxe_opcode.c (6.2-6.8)' },
  flushIcrc: { value: 'rxe', source: 'rxe:rxe_opcode.c#rxe_opcode, seen on 6.12 and 7.2 (packets/rxe-flush-icrc.ts)' },
};

const RXE_7: PeerProfile = { ...RXE_6_12, name: 'rxe-7.x', about: 'Linux rdma_rxe of 7.x: imitates its requester' };

const CX5: PeerProfile = {
  ...DEFAULT,
  name: 'cx5',
  about: 'NVIDIA ConnectX-5 and later, as documented in public; not tried by us',
  migReq: { value: 1, source: 'ref:rxe#15: 0 from another vendor is reported to take a slow path [unv]' },
  credits: { value: false, source: 'ref:rxe#15 leaves it open; off is what every peer takes [unv]' },
  flushAndAtomicWrite: { value: false, source: 'mlx5 offers neither through verbs [unv]' },
};

const STRICT: PeerProfile = {
  ...DEFAULT,
  name: 'strict',
  about: 'a peer that has what the reference calls strict-spec, and XRC',
  migReq: { value: 1, source: 'ref:rxe#15 (strict-spec)' },
  retryCnt7: { value: 'seven', source: 'ref:rxe#15 (strict-spec)' },
  flushIcrc: { value: 'right', source: 'ref:wire#3' },
};

/** All there are. */
export const PEER_PROFILES: readonly PeerProfile[] = [DEFAULT, RXE_6_1, RXE_6_12, RXE_7, CX5, STRICT];
/** Works with every peer here. */
export const DEFAULT_PEER_PROFILE: PeerProfile = DEFAULT;

/** The profile of a name. @throws RoceError ERR_ROCE_ARGUMENT for a name that is none */
export function peerProfile(name: string): PeerProfile {
  const found = PEER_PROFILES.find((profile) => profile.name === name);
  if (found !== undefined) return found;
  const known = PEER_PROFILES.map((profile) => profile.name).join(', ');
  throw new RoceError('ERR_ROCE_ARGUMENT', `there is no peer profile ${JSON.stringify(name)}; there is ${known}`);
}
