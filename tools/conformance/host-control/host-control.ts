/**
 * Host control on the host of the device under test: verbs, called from afar. Types only.
 *
 * An implementation of `HostControl` opens one device and executes calls one after the other, in the order they were
 * made; the caller need not wait between calls. The caller names the objects it makes: `qp: 7` in `qp.create` is queue
 * pair 7 from then on. `client.ts` uses an agent (JSON lines; `agent/`, docs/conformance-agent.md),
 * `in-process.ts` is a device of our own. Names, values and units are those of verbs; numbers are decimal, those of 64
 * bits are bigint (in JSON: "0x..." strings).
 */

/** What the caller calls an object: any whole number from 1, for each kind by itself. */
export type HostHandle = number;

/** A GID of the port. */
export interface GidEntry {
  readonly index: number;
  /** IPv4 or IPv6 address in text. */
  readonly address: string;
  /** `v1`: RoCE over Ethernet; `v2`: RoCEv2. */
  readonly type: 'v1' | 'v2';
}

/** What a device can do beyond RC, by names of ours; a case that needs one of them does not apply without it. */
export const FEATURES = [
  ...(['uc', 'ud', 'srq', 'mw2', 'atomics', 'flush', 'atomic-write', 'mcast'] as const),
  /** `cm.*` calls: the host has librdmacm. */
  'cm',
  /** It sends and obeys congestion notifications. */
  'cnp',
  /** `qp.create` takes `msn`, the number of the next message: only our own device does. */
  'preset-msn',
  /** `qp.modify` takes `flowControl`; without it the connection manager alone can agree on credits. */
  'credits',
  /** Automatic path migration: `qp.modify` takes `altPath` and `pathMigState`. */
  'apm',
  /** `srq.create` and `qp.create` take `xrcd`. */
  'xrc',
  /** It raises `qp-last-wqe-reached`, for which verbs have no capability flag. */
  'last-wqe',
] as const;

export type Feature = (typeof FEATURES)[number];

/** What the host control found. */
export interface HostDescription {
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
  /** DSCP of the CNPs that the device sends, 0 to 63; absent where that is not known. */
  readonly cnpDscp?: number;
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
export interface HostQpAttributes {
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
  /** `Feature` credits: end-to-end flow control, as the connection manager would have agreed on it. */
  readonly flowControl?: boolean;
  /** `Feature` apm: the alternate path, and ibv_mig_state. */
  readonly altPath?: PathAttributes;
  readonly pathMigState?: 'MIGRATED' | 'REARM' | 'ARMED';
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
export interface MemoryPiece {
  readonly mr: HostHandle;
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
  readonly pieces?: readonly MemoryPiece[];
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
  readonly ah?: HostHandle;
  readonly remoteQpn?: number;
  readonly remoteQkey?: number;
  /** BIND MW. */
  readonly bind?: {
    readonly mw: HostHandle;
    readonly mr: HostHandle;
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
export interface HostCompletion {
  readonly wrId: number;
  /** Value of ibv_wc_status. */
  readonly status: number;
  /** Value of ibv_wc_opcode; means something for success only. */
  readonly opcode: number;
  readonly byteLen: number;
  readonly qpn: number;
  /** UD: the sender. */
  readonly srcQp: number;
  /** Host byte order. */
  readonly imm?: number;
  readonly invalidatedRkey?: number;
  /** UD: the first 40 bytes are a GRH. */
  readonly grh: boolean;
}

/**
 * An asynchronous event, name as ibv_event_type without IBV_EVENT_, in lower case: `qp-fatal`,
 * `qp-access-err`, `sq-drained`, ...
 */
export interface AsyncEvent {
  readonly event: string;
  /** Which object, where it is of one the caller made. */
  readonly qp?: HostHandle;
  readonly cq?: HostHandle;
  readonly srq?: HostHandle;
}

/** Calls by name: what they take and what they give. All reject with `HostControlError` for what verbs refuse. */
export interface HostCalls {
  'pd.alloc': { readonly takes: { pd: HostHandle }; readonly gives: Nothing };
  'pd.dealloc': { readonly takes: { pd: HostHandle }; readonly gives: Nothing };
  'cq.create': { readonly takes: { cq: HostHandle; entries: number }; readonly gives: Nothing };
  'cq.destroy': { readonly takes: { cq: HostHandle }; readonly gives: Nothing };
  /** Completions that are there now, at most `max`. Never waits. */
  'cq.poll': {
    readonly takes: { cq: HostHandle; max: number };
    readonly gives: { completions: readonly HostCompletion[] };
  };
  /** ibv_req_notify_cq. */
  'cq.arm': { readonly takes: { cq: HostHandle; solicitedOnly: boolean }; readonly gives: Nothing };
  /** Completion events since the last call (ibv_get_cq_event, acknowledged). Never waits. */
  'cq.events': { readonly takes: { cq: HostHandle }; readonly gives: { count: number } };
  /** Zeroed memory; `va` is where peers reach it. */
  'mr.reg': {
    readonly takes: { mr: HostHandle; pd: HostHandle; length: number; access: readonly AccessFlag[] };
    readonly gives: { va: bigint; lkey: number; rkey: number };
  };
  'mr.dereg': { readonly takes: { mr: HostHandle }; readonly gives: Nothing };
  /** Bytes as hexadecimal digits. */
  'mem.read': { readonly takes: { mr: HostHandle; offset: number; length: number }; readonly gives: { hex: string } };
  'mem.write': { readonly takes: { mr: HostHandle; offset: number; hex: string }; readonly gives: Nothing };
  'mw.alloc': { readonly takes: { mw: HostHandle; pd: HostHandle }; readonly gives: { rkey: number } };
  'mw.dealloc': { readonly takes: { mw: HostHandle }; readonly gives: Nothing };
  /**
   * With `xrcd` and `cq` it is of that XRC domain, which is opened when it is first named, and its receives complete
   * there; `srqn` is its number then.
   */
  'srq.create': {
    readonly takes: { srq: HostHandle; pd: HostHandle; maxWr: number; xrcd?: HostHandle; cq?: HostHandle };
    readonly gives: { srqn?: number };
  };
  /** Arms the limit event. */
  'srq.modify': { readonly takes: { srq: HostHandle; limit: number }; readonly gives: Nothing };
  'srq.recv': {
    readonly takes: { srq: HostHandle; wrId: number; pieces: readonly MemoryPiece[] };
    readonly gives: Nothing;
  };
  'srq.destroy': { readonly takes: { srq: HostHandle }; readonly gives: Nothing };
  'qp.create': {
    readonly takes: {
      qp: HostHandle;
      pd: HostHandle;
      type: QpTypeName;
      sendCq: HostHandle;
      recvCq: HostHandle;
      srq?: HostHandle;
      maxSendWr: number;
      maxRecvWr: number;
      maxSge: number;
      maxInline?: number;
      msn?: number;
      /** An XRC target of that domain (IBV_QPT_XRC_RECV); type, queues and depths mean nothing then. */
      xrcd?: HostHandle;
    };
    readonly gives: { qpn: number };
  };
  'qp.modify': { readonly takes: { qp: HostHandle } & HostQpAttributes; readonly gives: Nothing };
  'qp.query': {
    readonly takes: { qp: HostHandle };
    readonly gives: { state: QpStateName } & Omit<HostQpAttributes, 'state'>;
  };
  'qp.destroy': { readonly takes: { qp: HostHandle }; readonly gives: Nothing };
  'qp.send': { readonly takes: { qp: HostHandle } & SendRequest; readonly gives: Nothing };
  'qp.recv': {
    readonly takes: { qp: HostHandle; wrId: number; pieces: readonly MemoryPiece[] };
    readonly gives: Nothing;
  };
  'ah.create': { readonly takes: { ah: HostHandle; pd: HostHandle } & PathAttributes; readonly gives: Nothing };
  'ah.destroy': { readonly takes: { ah: HostHandle }; readonly gives: Nothing };
  /** `group` is an IPv4 or IPv6 multicast address; `mlid` as ibv_attach_mcast takes it, default 0. */
  'mcast.attach': { readonly takes: { qp: HostHandle; group: string; mlid?: number }; readonly gives: Nothing };
  'mcast.detach': { readonly takes: { qp: HostHandle; group: string; mlid?: number }; readonly gives: Nothing };
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
   * A listener of the connection manager that accepts every client: each connection has an RC queue pair with
   * `receives` receives of `receiveBytes`, and a region of `regionBytes` whose va (8 bytes), rkey (4) and length (4),
   * big-endian, begin the private data of the REP. Received data are never read. With `reject` it refuses every client
   * (consumer reject, private data `reject` as hex). With `mute` requests are not answered at all.
   */
  'cm.listen': {
    readonly takes: {
      listener: HostHandle;
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
  'cm.close': { readonly takes: { listener: HostHandle }; readonly gives: Nothing };
  /**
   * Begins to connect to a listener (rdma_connect), with private data as hex; `cm.events` tells what comes of it.
   */
  'cm.connect': {
    readonly takes: {
      connection: HostHandle;
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
  'cm.disconnect': { readonly takes: { connection?: HostHandle; listener?: HostHandle }; readonly gives: Nothing };
  /**
   * Events of the connection manager since the last call (rdma_event_str without RDMA_CM_EVENT_, lower case with
   * hyphens).
   */
  'cm.events': {
    readonly takes: Nothing;
    readonly gives: {
      events: readonly {
        event: string;
        status: number;
        listener?: HostHandle;
        connection?: HostHandle;
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

export type HostCall = keyof HostCalls;

/** Host control of one device. */
export interface HostControl {
  readonly description: HostDescription;
  /** Does one thing. @throws HostControlError when verbs refuse, or when the agent is gone */
  call<C extends HostCall>(name: C, args: Readonly<HostCalls[C]['takes']>): Promise<HostCalls[C]['gives']>;
  /** Lets go of the device. */
  close(): Promise<void>;
}

/**
 * Why a call failed: `refused` with the errno's name that verbs gave (`EINVAL`), `unsupported` where the host control
 * cannot do that, `gone` when the agent does not answer.
 */
export class HostControlError extends Error {
  readonly kind: 'refused' | 'unsupported' | 'gone';
  readonly errno: string;

  constructor(kind: 'refused' | 'unsupported' | 'gone', errno: string, message: string) {
    super(message);
    this.name = 'HostControlError';
    this.kind = kind;
    this.errno = errno;
  }
}
