/**
 * What the server of the kernel's user ABI needs of its surroundings, and what it gives them: the seam between the
 * protocol part (`src/uverbs`, no I/O) and the sockets, files and processes around it (`src/node/uverbs`).
 *
 * Owns the interfaces only. One client process has one `UverbsClient`; each open file of `/dev/infiniband/uverbs0` is a
 * `UverbsFile`, each of `/dev/infiniband/rdma_cm` an `RdmaCmFile`. Errors are numbers of errno, 0 for none.
 */

/** The memory of a client process. Addresses are user addresses, below 2^47, exact as numbers. */
export interface ProcessMemory {
  /**
   * Copies `length` bytes at `address` of the process to byte `toAt` of `to`; false when any of them is not there.
   *
   * @param ahead how many bytes of the same message lie there [length]: see `CopiedMemory.read`
   */
  read(address: number, to: Uint8Array, toAt: number, length: number, ahead?: number): boolean;
  /**
   * Copies `length` bytes from byte `fromAt` of `from` to `address`; false when any of them cannot be written.
   *
   * @param more whether the message of `writer` goes on behind them [false]: see `CopiedMemory.write`
   */
  write(address: number, from: Uint8Array, fromAt: number, length: number, more?: boolean, writer?: object): boolean;
}

/** A piece of the file that the client has mapped: rings. The client may scribble on it at any time. */
export interface SharedRing {
  /** Offset in the file, which is what the client passes to mmap; a multiple of the page size. */
  readonly offset: number;
  /** The bytes, shared with the client. */
  readonly bytes: Uint8Array;
}

/** What the host does for one open file of uverbs. */
export interface UverbsFileHost {
  /** The memory of the process that opened it. */
  readonly memory: ProcessMemory;
  /**
   * Words that the client can write, one for each handle from 0 on: there it arms a completion queue without a command
   * (`Armed`). Absent where it has to use commands.
   */
  readonly armed?: Int32Array;
  /** Makes room for a ring of at least `length` bytes, zeroed; undefined when there is none. */
  allocate(length: number): SharedRing | undefined;
  /** Frees a ring. Its memory is not used again while the client may have it mapped. */
  free(ring: SharedRing): void;
  /** Makes an event channel; the client opens it by this token. */
  openChannel(): number;
  /**
   * Sends bytes that the client reads from the channel: one event, whole, about this object of the server. False when
   * it is lost, for too many wait to be read there.
   */
  event(channel: number, bytes: Uint8Array, about: object): boolean;
  /**
   * Takes back those events of the channel that are about this object and that the client has not read, and says how
   * many these were: for a command that destroys the object, within the call of `command` and not later. What was sent
   * less what was taken back is what the client has read, exactly.
   */
  cancelEvents(channel: number, about: object): number;
  /**
   * A completion is in a ring of this file, its producer index stored: wakes a client that polls and would otherwise
   * take the processor from the server. Cheap when none waits; call it after each, or after several.
   */
  completed(): void;
  /**
   * Resolves when the device has had a turn: what doorbells before this call asked for is on its way, and datagrams
   * have completed.
   */
  turn(): Promise<void>;
  /** The channel's end. */
  closeChannel(channel: number): void;
}

/** Bits of a word of `UverbsFileHost.armed`. */
export const Armed = {
  /** The client: for the next solicited completion. */
  Solicited: 1,
  /** The client: for the next completion. */
  Any: 2,
  /** The server: the handle is that of a completion queue. */
  Queue: 4,
} as const;

/** The result of a command. */
export interface CommandResult {
  /** 0, or a number of errno. */
  readonly errno: number;
  /** What is written to the response buffer that the command names. */
  readonly response: Uint8Array;
}

/** One open file of uverbs: a context, its handles, and everything made through them. */
export interface UverbsFile {
  /**
   * A write() of the client: `bytes` is what it wrote, from the command header on. Some commands wait (address handles
   * for the next hop), so the result is a promise for these.
   *
   * Where a command names a descriptor of an event channel (`comp_channel` of CREATE_CQ), it has the channel's number
   * of `openChannel` in its place; the descriptors of a response (`async_fd` of GET_CONTEXT, `fd` of
   * CREATE_COMP_CHANNEL) are such numbers, too, and become descriptors on the way.
   */
  command(bytes: Uint8Array): CommandResult | Promise<CommandResult>;
  /** POST_SEND without work requests in it: the client has put some into the ring of this queue pair. */
  doorbell(qpHandle: number): void;
  /** The client has closed a channel, which it made by CREATE_COMP_CHANNEL: what it has not read is gone. */
  channelClosed(channel: number): void;
  /** The client has closed it or is gone: frees everything. */
  close(): void;
}

/** What the host does for one open file of rdma_cm. */
export interface RdmaCmFileHost {
  /** The memory of the process that opened it. */
  readonly memory: ProcessMemory;
  /** Stands for a descriptor of this file in commands of others (`fd` of MIGRATE_ID). No two files have the same. */
  readonly number: number;
  /** One more event can be had by GET_EVENT: the descriptor becomes readable by one. */
  eventReady(): void;
}

/** One open file of rdma_cm: its ids and their events. */
export interface RdmaCmFile {
  /** A write() of the client, from the command header on; GET_EVENT without one to be had is EAGAIN. */
  command(bytes: Uint8Array): CommandResult | Promise<CommandResult>;
  /** The client has closed it or is gone: frees its ids, and disconnects them as the kernel does. */
  close(): void;
}

/** The server of one device, whatever its link. */
export interface UverbsServer {
  /** A file is opened. */
  openUverbs(host: UverbsFileHost): UverbsFile;
  /** A file is opened. Queue pairs named in it may be of any file of uverbs of the same server. */
  openRdmaCm(host: RdmaCmFileHost): RdmaCmFile;
  /** Commands and doorbells of all its clients that were answered with an errno, or would have been. */
  readonly refused: number;
  /**
   * The same, by what was refused: the command as the kernel's headers name it and the errno, `CREATE_QP EINVAL`, and
   * how often. As many as commands have errnos.
   */
  readonly refusals: ReadonlyMap<string, number>;
  /**
   * What the client finds below /sys (paths relative to it) as text, without a newline at the end: the class entries of
   * the device `rxe0`, its port, GIDs, and of rdma_cm.
   */
  sysfs(): ReadonlyMap<string, string>;
}
