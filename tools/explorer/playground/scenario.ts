/**
 * A scenario: everything that decides what happens in the playground, as plain data. The same scenario gives the same
 * bytes.
 *
 * Owns names, units, defaults and bounds. Computes nothing; `parse-scenario.ts` checks what comes from outside.
 * Hosts are numbered from 0 and called A, B, C... Times are virtual nanoseconds.
 */

/**
 * What is posted. `recv` posts receives; all others are send work requests. `bind` and `invalidate` send nothing: they
 * open and close the poster's own memory window, on its outgoing memory, to the peer. `join` and `leave` attach the
 * poster's UD queue pair to the one multicast group, and detach it. `connect` to `disconnect` are for the connection
 * manager: `accept`, `reject` and `patience` (MRA) are of the side that was asked.
 */
export const OPERATION_KINDS = [
  'send',
  'send-imm',
  'write',
  'write-imm',
  'read',
  'fetch-add',
  'cmp-swap',
  'atomic-write',
  'flush',
  'bind',
  'invalidate',
  'join',
  'leave',
  'connect',
  'accept',
  'reject',
  'patience',
  'disconnect',
  'recv',
] as const;
/** One of them. */
export type OperationKind = (typeof OPERATION_KINDS)[number];

/** What is wrong with a request, on purpose. */
export const MISTAKES = ['rkey', 'range', 'right'] as const;
/**
 * `rkey`: a key that opens nothing. `range`: beyond the end of the region. `right`: a region whose key does not allow
 * it.
 */
export type Mistake = (typeof MISTAKES)[number];

/** What the application on the other side does about a `connect`: nobody listens, or it answers later, by hand. */
export const ANSWERS = ['accept', 'reject', 'later', 'nobody'] as const;
/** One of them. */
export type Answer = (typeof ANSWERS)[number];

/** Work requests that one side of a connection posts. */
export interface PlaygroundOperation {
  readonly kind: OperationKind;
  /** Index into `Scenario.connections`; default 0. */
  readonly connection?: number;
  /** Which side posts: 0 the one that `from` names, 1 its peer. Default 0. */
  readonly side?: 0 | 1;
  /** Bytes of each message; default 64. Atomics and ATOMIC WRITE have 8. */
  readonly bytes?: number;
  /** How many of them at once; default 1. */
  readonly count?: number;
  /**
   * Where in the memory on both sides, in bytes; default 0. Further ones follow behind the first. Atomics and ATOMIC
   * WRITE change the counters of the peer.
   */
  readonly offset?: number;
  /**
   * FETCH & ADD: the addend; COMPARE & SWAP: the value compared with. Default 1 and 0. `patience`: the code of the
   * time, 4.096 us * 2^value; default 14.
   */
  readonly value?: number;
  /** COMPARE & SWAP and ATOMIC WRITE: the new value. Default 7. */
  readonly swap?: number;
  /** SENDs and WRITE with immediate: the peer posts the receives it takes in the same instant. Default true. */
  readonly receive?: boolean;
  readonly mistake?: Mistake;
  /**
   * With the key of the peer's memory window, which only what is bound of its outgoing memory can be reached with.
   * Default false: with the key of a region.
   */
  readonly window?: boolean;
  /** A datagram to the multicast group instead of the peer. Default false. */
  readonly group?: boolean;
  /** `connect`: what the other side does. Default `accept`. */
  readonly answer?: Answer;
  /** When; default 0. */
  readonly atNs?: number;
  /** Instead of a time: as the step with this number. What the user posts by hand is kept so. */
  readonly atStep?: number;
}

/** What can be done to a packet on its way. */
export const ACTIONS = ['drop', 'corrupt', 'duplicate', 'delay', 'mark'] as const;
/** One of them: `mark` marks Congestion Experienced. */
export type PacketAction = (typeof ACTIONS)[number];

/** Something that is done to one packet. */
export interface Intervention {
  /** Who sends the packet. */
  readonly host: number;
  /** Which of those it sends, from 1. */
  readonly packet: number;
  readonly action: PacketAction;
  /** `delay`: how much later it arrives; `duplicate`: how much later the copy does. Default 20,000 and 1,000. */
  readonly byNs?: number;
}

/** When the queue towards a host marks packets, as RED does it: by the bytes that wait. */
export interface EcnSpec {
  readonly kminBytes: number;
  readonly kmaxBytes: number;
  /** 0..1. */
  readonly pmax: number;
}

/**
 * Priority flow control: when a switch holds more bytes than `xoffBytes` that came in on one cable, it asks the sender
 * of that cable to pause; at `xonBytes` it lets it go on. Data and ACKs are of one priority.
 */
export interface PfcSpec {
  readonly xoffBytes: number;
  readonly xonBytes: number;
}

/**
 * How hosts are joined. `star`: one switch in the middle. `ring`: each host has a switch of its own, and every switch
 * sends to that of the next host, so that all traffic goes one way round.
 */
export const LINK_SHAPES = ['star', 'ring'] as const;
/** One of them. */
export type LinkShape = (typeof LINK_SHAPES)[number];

/** Every host's cable to its switch, both ways; in a ring, the cables between switches have the same rate and delay. */
export interface HostLinkSpec {
  /** Bits a second. */
  readonly rateBps: number;
  /** Rates of single hosts, where they differ: `ratesBps[2]` is C's. 0: as all others. */
  readonly ratesBps: readonly number[];
  readonly shape: LinkShape;
  /** From host to host, beside the time that sending takes; in a ring, half of it for each cable. */
  readonly delayNs: number;
  /** Bytes that may wait in one queue of a switch; what comes then is lost. */
  readonly queueBytes: number;
  /** Probabilities for one packet, 0..1; its faults depend on the seed, its sender and its number alone. */
  readonly loss: number;
  readonly corrupt: number;
  readonly duplicate: number;
  readonly reorder: number;
  readonly mark: number;
  readonly ecn?: EcnSpec;
  /** Absent: switches send no pauses. */
  readonly pfc?: PfcSpec;
}

/** Attributes of every queue pair. Names after ibv_modify_qp(3). */
export interface QpSpec {
  readonly service: 'rc' | 'uc' | 'ud';
  /** Path MTU: bytes of payload, 256 .. 4096. */
  readonly mtu: number;
  /** Retries after a timeout or sequence NAK, 0..7. */
  readonly retryCnt: number;
  /** Retries after an RNR NAK, 0..7; 7 has no end. */
  readonly rnrRetry: number;
  /** ACK timeout is 4.096 us * 2^timeout; 0 waits infinitely. */
  readonly timeout: number;
  /** Code of the pause asked for in RNR NAKs, 0..31. */
  readonly minRnrTimer: number;
  /** READs and atomics outstanding at most, on both sides. */
  readonly maxRdAtomic: number;
  /** Packets sent and not acknowledged at most. */
  readonly maxUnacked: number;
  /** First PSN that the first side of a connection sends, and that its peer does. */
  readonly firstPsn: number;
  readonly peerFirstPsn: number;
}

/**
 * Congestion control of all hosts: DCQCN in one of its profiles. Absent in a scenario: none, and packets are not
 * ECN-capable.
 */
export interface CongestionSpec {
  readonly profile: 'paper' | 'mlx';
  /** What is not the profile's default, by the names of `PaperParameters` or `MlxParameters`. */
  readonly parameters: Readonly<Record<string, number | boolean>>;
  /** At most one CNP of a flow in this time. */
  readonly cnpIntervalNs: number;
}

/** How the connection managers of all hosts wait for each other. */
export interface CmSpec {
  /** Code of the time to wait for an answer: 4.096 us * 2^n, 0..20. */
  readonly responseTimeout: number;
  /** Repetitions of a message that was not answered, 0..15. */
  readonly retries: number;
}

/** Two queue pairs that speak to each other. */
export interface ConnectionSpec {
  /** The host of the first side. */
  readonly from: number;
  readonly to: number;
}

/** All of it. */
export interface PlaygroundScenario {
  /** 0 .. 2^32 - 1: keys, queue pair numbers, memory and chance follow from it. */
  readonly seed: number;
  /** How many, 2..8. */
  readonly hosts: number;
  /** Bytes of each host's outgoing, incoming and exposed memory. */
  readonly memoryBytes: number;
  readonly link: HostLinkSpec;
  readonly qp: QpSpec;
  readonly congestion?: CongestionSpec;
  /** Absent: all connections stand from the beginning. Otherwise each needs a `connect`. */
  readonly cm?: CmSpec;
  readonly connections: readonly ConnectionSpec[];
  readonly operations: readonly PlaygroundOperation[];
  readonly interventions: readonly Intervention[];
}

/** Two hosts, one reliable connection, one SEND of 64 bytes. */
export const DEFAULT_SCENARIO: PlaygroundScenario = {
  seed: 1,
  hosts: 2,
  memoryBytes: 16_384,
  link: {
    rateBps: 10e9,
    ratesBps: [],
    shape: 'star',
    delayNs: 2_000,
    queueBytes: 1 << 20,
    loss: 0,
    corrupt: 0,
    duplicate: 0,
    reorder: 0,
    mark: 0,
  },
  qp: {
    service: 'rc',
    mtu: 1024,
    retryCnt: 3,
    rnrRetry: 3,
    timeout: 6,
    minRnrTimer: 5,
    maxRdAtomic: 4,
    maxUnacked: 128,
    firstPsn: 100,
    peerFirstPsn: 5000,
  },
  connections: [{ from: 0, to: 1 }],
  operations: [{ kind: 'send' }],
  interventions: [],
};

/** What a congestion section has that does not say. */
export const DEFAULT_CONGESTION: CongestionSpec = { profile: 'paper', parameters: {}, cnpIntervalNs: 50_000 };

/** What a cm section has that does not say: 4.2 ms, three times. Real ones wait longer (4.3 s, 15 times). */
export const DEFAULT_CM: CmSpec = { responseTimeout: 10, retries: 3 };

/** Bounds that keep any scenario, however hostile, small. */
export const LIMITS = {
  hosts: 8,
  connections: 8,
  operations: 64,
  interventions: 256,
  /** Bytes of one message, and of one region of memory. */
  messageBytes: 0x4_00_00,
  memoryBytes: 0x10_00_00,
  /** Work requests of one operation, and of all. */
  count: 64,
  workRequests: 512,
  /** Steps of a session, at most. */
  steps: 20_000,
  /** Virtual time of a session: ten minutes. */
  timeNs: 600e9,
  /** Characters of a link. */
  linkChars: 0x1_00_00,
} as const;

/** A, B, C... */
export function hostName(host: number): string {
  return String.fromCharCode(0x41 + host);
}

/** Bytes of each message of an operation. */
export function bytesOf(operation: PlaygroundOperation): number {
  return EIGHT_BYTES.includes(operation.kind) ? 8 : (operation.bytes ?? 64);
}

/** Bytes of memory from the beginning that an operation reaches on either side. */
export function reachOf(operation: PlaygroundOperation): number {
  const room = takesReceive(operation) || operation.kind === 'recv' ? DATAGRAM_HEADER_BYTES : 0;
  return (operation.offset ?? 0) + (operation.count ?? 1) * (bytesOf(operation) + room);
}

/** Whether it changes the peer's counters. */
export function isCounting({ kind }: PlaygroundOperation): boolean {
  return EIGHT_BYTES.includes(kind);
}

/** Whether it is for the connection manager. */
export function isConnecting({ kind }: PlaygroundOperation): boolean {
  return CONNECTING.includes(kind);
}

/** Whether each message of it takes a receive of the peer. */
export function takesReceive({ kind }: PlaygroundOperation): boolean {
  return kind === 'send' || kind === 'send-imm' || kind === 'write-imm';
}

/** The headers in front of a received datagram. */
export const DATAGRAM_HEADER_BYTES = 40;
/** Bytes of the counters that peers may do atomics on. */
export const COUNTER_BYTES = 256;
/** Those for the connection manager. */
export const CONNECTING: readonly OperationKind[] = ['connect', 'accept', 'reject', 'patience', 'disconnect'];
const EIGHT_BYTES: readonly OperationKind[] = ['fetch-add', 'cmp-swap', 'atomic-write'];
