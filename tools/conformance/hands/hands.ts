/**
 * Hands on the host of the device under test: verbs, called from afar. Types only.
 *
 * Whoever implements `Hands` opens one device and does what it is told, one call after the other, in the order they were made; the
 * caller need not wait between calls. The caller names the objects it makes: `qp: 7` in `qp.create` is queue pair 7 from then on.
 * `client.ts` speaks to an agent (JSON lines; `agent/`, docs/conformance-agent.md), `in-process.ts` is a device of our own.
 * Names, values and units are those of verbs; numbers are decimal, those of 64 bits are bigint (in JSON: "0x..." strings).
 */

/** What the caller calls an object: any whole number from 1, for each kind by itself. */
export type Handle = number;

/** A GID of the port. */
export interface GidEntry {
  readonly index: number;
  /** IPv4 or IPv6 address in text. */
  readonly address: string;
  /** `v1`: RoCE over Ethernet; `v2`: RoCEv2. */
  readonly type: 'v1' | 'v2';
}

/** What a device can do beyond RC, in words of ours; a case that needs one of them does not apply without it. */
export const FEATURES = [
  ...(['uc', 'ud', 'srq', 'mw2', 'atomics', 'flush', 'atomic-write', 'mcast'] as const),
  /** `cm.*` calls: the host has librdmacm. */
  'cm',
  /** It sends and obeys congestion notifications. */
  'cnp',
  /** `qp.create` takes `msn`, the number of the next message: only our own device does. */
  'preset-msn',
] as const;

export type Feature = (typeof FEATURES)[number];

/** What the hands found. */
export interface Description {
  /** `rxe0`, `mlx5_0`, `rocev2_0`. */
  readonly device: string;
  /** Driver or program, as far as it is known: `rdma_rxe`, `mlx5_core`, `rocev2`. */
  readonly driver: string;
  /** Kernel release or firmware, for reports. */
  readonly version: string;
  readonly gids: readonly GidEntry[];
  /** Path MTU of the port in bytes. */
  readonly activeMtu: number;
  readonly maxQpRdAtomic: number;
  readonly maxSge: number;
  readonly features: readonly Feature[];
}

/** ibv_access_flags, by name. */
export type AccessFlag =
  | 'local-write'
  | 'remote-write'
  | 'remote-read'
  | 'remote-atomic'
  | 'mw-bind'
  | 'flush-global'
  | 'flush-persistent';

export type QpTypeName = 'rc' | 'uc' | 'ud';
export type QpStateName = 'RESET' | 'INIT' | 'RTR' | 'RTS' | 'SQD' | 'SQE' | 'ERR';

/** Attributes of ibv_modify_qp; the mask is made of those that are there. */
export interface QpAttributes {
  readonly state?: QpStateName;
  readonly port?: number;
  readonly pkeyIndex?: number;
  readonly access?: readonly AccessFlag[];
  readonly qkey?: number;
  /** The way to the peer. */
  readonly path?: PathAttributes;
  readonly destQpn?: number;
  readonly rqPsn?: number;
  /** Bytes: 256, 512, 1024, 2048, 4096. */
  readonly mtu?: number;
  readonly maxDestRdAtomic?: number;
  readonly minRnrTimer?: number;
  readonly sqPsn?: number;
  readonly timeout?: number;
  readonly retryCnt?: number;
  readonly rnrRetry?: number;
  readonly maxRdAtomic?: number;
  /** SQD: raise the event when drained. */
  readonly enSqdAsyncNotify?: boolean;
}

/** ibv_ah_attr with a GRH, as RoCE needs. */
export interface PathAttributes {
  /** Address of the peer. */
  readonly destination: string;
  /** Which GID of ours. */
  readonly sgidIndex: number;
  /** Default 64. */
  readonly hopLimit?: number;
  /** Default 0. */
  readonly trafficClass?: number;
  readonly flowLabel?: number;
  readonly sl?: number;
}

/** A piece of memory: of a region by name; `lkey` or `address` replace what the region has, to be wrong on purpose. */
export interface Piece {
  readonly mr: Handle;
  readonly offset: number;
  readonly length: number;
  readonly lkey?: number;
  readonly address?: bigint;
}

export type SendOpcode =
  | 'write'
  | 'write-imm'
  | 'send'
  | 'send-imm'
  | 'send-inv'
  | 'read'
  | 'cmp-swap'
  | 'fetch-add'
  | 'local-inv'
  | 'bind-mw'
  | 'flush'
  | 'atomic-write';

/** ibv_send_wr. */
export interface SendRequest {
  readonly wrId: number;
  readonly opcode: SendOpcode;
  readonly pieces?: readonly Piece[];
  /** Default true. */
  readonly signaled?: boolean;
  readonly solicited?: boolean;
  readonly fence?: boolean;
  readonly inline?: boolean;
  readonly remoteAddr?: bigint;
  readonly rkey?: number;
  readonly imm?: number;
  /** SEND with invalidate, LOCAL INV. */
  readonly invalidateRkey?: number;
  /** Atomics; `compareAdd` is also what FETCH ADD adds. */
  readonly compareAdd?: bigint;
  readonly swap?: bigint;
  /** UD. */
  readonly ah?: Handle;
  readonly remoteQpn?: number;
  readonly remoteQkey?: number;
  /** BIND MW. */
  readonly bind?: {
    readonly mw: Handle;
    readonly mr: Handle;
    readonly offset: number;
    readonly length: number;
    readonly access: readonly AccessFlag[];
    /** The key it is to have. */
    readonly rkey: number;
  };
  /** FLUSH: bit sets and level of verbs, and the length of the range. */
  readonly flush?: { readonly type: number; readonly level: number; readonly length: number };
}

/** ibv_wc. */
export interface Completion {
  readonly wrId: number;
  /** Value of ibv_wc_status. */
  readonly status: number;
  /** Value of ibv_wc_opcode; means something for success only. */
  readonly opcode: number;
  readonly byteLen: number;
  readonly qpn: number;
  /** UD: who sent. */
  readonly srcQp: number;
  /** Host byte order. */
  readonly imm?: number;
  readonly invalidatedRkey?: number;
  /** UD: the first 40 bytes are a GRH. */
  readonly grh: boolean;
}

/** An asynchronous event, name as ibv_event_type without IBV_EVENT_, in lower case: `qp-fatal`, `qp-access-err`, `sq-drained`, ... */
export interface AsyncEvent {
  readonly event: string;
  /** Which object, where it is of one the caller made. */
  readonly qp?: Handle;
  readonly cq?: Handle;
  readonly srq?: Handle;
}

/** Calls by name: what they take and what they give. All reject with `HandsError` for what verbs refuse. */
export interface HandsCalls {
  'pd.alloc': { readonly takes: { pd: Handle }; readonly gives: Nothing };
  'pd.dealloc': { readonly takes: { pd: Handle }; readonly gives: Nothing };
  'cq.create': { readonly takes: { cq: Handle; entries: number }; readonly gives: Nothing };
  'cq.destroy': { readonly takes: { cq: Handle }; readonly gives: Nothing };
  /** Completions that are there now, at most `max`. Never waits. */
  'cq.poll': { readonly takes: { cq: Handle; max: number }; readonly gives: { completions: readonly Completion[] } };
  /** ibv_req_notify_cq. */
  'cq.arm': { readonly takes: { cq: Handle; solicitedOnly: boolean }; readonly gives: Nothing };
  /** Completion events since the last call (ibv_get_cq_event, acknowledged). Never waits. */
  'cq.events': { readonly takes: { cq: Handle }; readonly gives: { count: number } };
  /** Zeroed memory; `va` is where peers reach it. */
  'mr.reg': {
    readonly takes: { mr: Handle; pd: Handle; length: number; access: readonly AccessFlag[] };
    readonly gives: { va: bigint; lkey: number; rkey: number };
  };
  'mr.dereg': { readonly takes: { mr: Handle }; readonly gives: Nothing };
  /** Bytes as hexadecimal digits. */
  'mem.read': { readonly takes: { mr: Handle; offset: number; length: number }; readonly gives: { hex: string } };
  'mem.write': { readonly takes: { mr: Handle; offset: number; hex: string }; readonly gives: Nothing };
  'mw.alloc': { readonly takes: { mw: Handle; pd: Handle }; readonly gives: { rkey: number } };
  'mw.dealloc': { readonly takes: { mw: Handle }; readonly gives: Nothing };
  'srq.create': { readonly takes: { srq: Handle; pd: Handle; maxWr: number }; readonly gives: Nothing };
  /** Arms the limit event. */
  'srq.modify': { readonly takes: { srq: Handle; limit: number }; readonly gives: Nothing };
  'srq.recv': {
    readonly takes: { srq: Handle; wrId: number; pieces: readonly Piece[] };
    readonly gives: Nothing;
  };
  'srq.destroy': { readonly takes: { srq: Handle }; readonly gives: Nothing };
  'qp.create': {
    readonly takes: {
      qp: Handle;
      pd: Handle;
      type: QpTypeName;
      sendCq: Handle;
      recvCq: Handle;
      srq?: Handle;
      maxSendWr: number;
      maxRecvWr: number;
      maxSge: number;
      maxInline?: number;
      msn?: number;
    };
    readonly gives: { qpn: number };
  };
  'qp.modify': { readonly takes: { qp: Handle } & QpAttributes; readonly gives: Nothing };
  'qp.query': { readonly takes: { qp: Handle }; readonly gives: { state: QpStateName } & Omit<QpAttributes, 'state'> };
  'qp.destroy': { readonly takes: { qp: Handle }; readonly gives: Nothing };
  'qp.send': { readonly takes: { qp: Handle } & SendRequest; readonly gives: Nothing };
  'qp.recv': { readonly takes: { qp: Handle; wrId: number; pieces: readonly Piece[] }; readonly gives: Nothing };
  'ah.create': { readonly takes: { ah: Handle; pd: Handle } & PathAttributes; readonly gives: Nothing };
  'ah.destroy': { readonly takes: { ah: Handle }; readonly gives: Nothing };
  /** `group` is an IPv4 or IPv6 multicast address; `mlid` as ibv_attach_mcast takes it, default 0. */
  'mcast.attach': { readonly takes: { qp: Handle; group: string; mlid?: number }; readonly gives: Nothing };
  'mcast.detach': { readonly takes: { qp: Handle; group: string; mlid?: number }; readonly gives: Nothing };
  /** Asynchronous events since the last call. Never waits. */
  events: { readonly takes: Nothing; readonly gives: { events: readonly AsyncEvent[] } };
  /** ibv_query_port and ibv_query_device, as far as rules ask. */
  'port.query': {
    readonly takes: Nothing;
    readonly gives: {
      state: string;
      linkLayer: string;
      lid: number;
      smLid: number;
      activeMtu: number;
      pkeys: readonly number[];
    };
  };
  /** Counters of the port by the driver's names (hw_counters); none where it has none. */
  counters: { readonly takes: Nothing; readonly gives: { counters: Readonly<Record<string, number>> } };
  /**
   * A listener of the connection manager that accepts who comes: each connection has an RC queue pair with `receives` receives of
   * `receiveBytes`, and a region of `regionBytes` whose va (8 bytes), rkey (4) and length (4), big-endian, begin the private data of the
   * REP. What comes in is never looked at. With `reject` it refuses everybody (consumer reject, private data `reject` as hex).
   * With `mute` requests are not answered at all.
   */
  'cm.listen': {
    readonly takes: {
      listener: Handle;
      port: number;
      receives?: number;
      receiveBytes?: number;
      regionBytes?: number;
      reject?: string;
      mute?: boolean;
      udp?: boolean;
    };
    readonly gives: Nothing;
  };
  'cm.close': { readonly takes: { listener: Handle }; readonly gives: Nothing };
  /** Begins to connect to somebody who listens (rdma_connect), with private data as hex; what comes of it, `cm.events` tells. */
  'cm.connect': {
    readonly takes: {
      connection: Handle;
      address: string;
      port: number;
      privateData?: string;
      responderResources?: number;
      initiatorDepth?: number;
      retryCount?: number;
      rnrRetryCount?: number;
    };
    readonly gives: Nothing;
  };
  /** Ends a connection that `cm.connect` made, or of a listener's the newest. */
  'cm.disconnect': { readonly takes: { connection?: Handle; listener?: Handle }; readonly gives: Nothing };
  /** Events of the connection manager since the last call (rdma_event_str without RDMA_CM_EVENT_, lower case with hyphens). */
  'cm.events': {
    readonly takes: Nothing;
    readonly gives: {
      events: readonly {
        event: string;
        status: number;
        listener?: Handle;
        connection?: Handle;
        qpn?: number;
        privateData?: string;
      }[];
    };
  };
  /** Destroys all that was made since the beginning, connections and listeners too, and forgets events. */
  reset: { readonly takes: Nothing; readonly gives: Nothing };
}

/** Nothing at all. */
export type Nothing = Readonly<Record<never, never>>;

export type HandsCall = keyof HandsCalls;

/** Hands of one device. */
export interface Hands {
  readonly description: Description;
  /** Does one thing. @throws HandsError when verbs refuse, or when the agent is gone */
  call<C extends HandsCall>(name: C, args: Readonly<HandsCalls[C]['takes']>): Promise<HandsCalls[C]['gives']>;
  /** Lets go of the device. */
  close(): Promise<void>;
}

/**
 * Why something was not done: `refused` with the errno's name that verbs gave (`EINVAL`), `unsupported` where the hands cannot do that,
 * `gone` when nobody answers.
 */
export class HandsError extends Error {
  readonly kind: 'refused' | 'unsupported' | 'gone';
  readonly errno: string;

  constructor(kind: 'refused' | 'unsupported' | 'gone', errno: string, message: string) {
    super(message);
    this.name = 'HandsError';
    this.kind = kind;
    this.errno = errno;
  }
}
