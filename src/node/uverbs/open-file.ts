/**
 * An open file of a client: its connections, its channels, and the file of the protocol behind it.
 * Owns the order of what the client is told: events that were taken back come before the answer that is the reason. A
 * file is closed when its last connection is.
 */
import { randomBytes } from 'node:crypto';
import type {
  CommandResult,
  RdmaCmFile,
  SharedRing,
  UverbsFile,
  UverbsFileHost,
  UverbsServer,
} from '../../uverbs/host.ts';
import type { Libc } from '../links/libc.ts';
import { EventChannel } from './channel.ts';
import type { Connection } from './connection.ts';
import type { ClientMemory } from './process-memory.ts';
import { RingFile } from './ring-file.ts';
import { FrameType, TOKEN_BYTES } from './wire.ts';

/** What connections need of a file, whatever it is of. */
export abstract class OpenFile {
  /** Known to the process that opened it and to its children: who has it may join. */
  readonly token: string = randomBytes(TOKEN_BYTES).toString('hex');
  readonly number: number;
  readonly #connections = new Set<Connection>();
  #isClosed = false;

  constructor(number: number) {
    this.number = number;
  }

  /** The descriptor of this process that the client gets, undefined where there is none. */
  abstract readonly descriptor: number | undefined;
  /** That of the process which opened it. */
  abstract readonly memory: ClientMemory;

  /** One more connection for commands. */
  join(connection: Connection): void {
    this.#connections.add(connection);
  }

  /** One less. True when it was the last: the file is closed. */
  leave(connection: Connection): boolean {
    if (!this.#connections.delete(connection) || this.#connections.size > 0) return false;
    this.close();
    return true;
  }

  /** Ends all connections. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.end();
    for (const connection of this.#connections) connection.close();
  }

  /** Runs a command, and answers it then or later. */
  run(connection: Connection, id: number, bytes: Uint8Array): void {
    if (this.#isClosed) return;
    const result = this.command(bytes);
    const cancelled = this.takeCancelled();
    if (cancelled !== undefined) connection.send(FrameType.Cancelled, 0, 0, cancelled);
    if (result instanceof Promise) void result.then((later) => answer(connection, id, later));
    else answer(connection, id, result);
  }

  /** Gives a connection to a channel; false when there is no such channel, or it has one. */
  abstract openChannel(connection: Connection, channel: number): boolean;
  /** What the channel has to say by now, after the answer. */
  abstract channelOpened(channel: number): void;
  doorbell(_queuePair: number): void {}
  eventRead(_channel: number, _ordinal: number): void {}
  /** The connection of a channel has ended. */
  channelClosed(_channel: number): void {}
  protected abstract command(bytes: Uint8Array): CommandResult | Promise<CommandResult>;
  protected takeCancelled(): Uint8Array | undefined {
    return undefined;
  }
  protected abstract end(): void;
}

/** One of uverbs. */
export class OpenUverbsFile extends OpenFile implements UverbsFileHost {
  readonly memory: ClientMemory;
  readonly armed: Int32Array;
  readonly #rings: RingFile;
  readonly #file: UverbsFile;
  readonly #channels = new Map<number, EventChannel>();
  #nextChannel = 1;
  #cancelled: number[] = [];

  /** @throws RoceError ERR_ROCE_LINK_UNAVAILABLE when there is no memory for its rings */
  constructor(libc: Libc, server: UverbsServer, number: number, memory: ClientMemory) {
    super(number);
    this.#rings = RingFile.create(libc);
    this.armed = this.#rings.armed;
    this.memory = memory;
    this.#file = server.openUverbs(this);
  }

  get descriptor(): number {
    return this.#rings.fd;
  }

  openChannel(): number;
  openChannel(connection: Connection, channel: number): boolean;
  openChannel(connection?: Connection, channel = 0): number | boolean {
    if (connection !== undefined) return this.#channels.get(channel)?.attach(connection) ?? false;
    const made = new EventChannel(this.#nextChannel++);
    this.#channels.set(made.number, made);
    return made.number;
  }

  channelOpened(channel: number): void {
    this.#channels.get(channel)?.sendEarlier();
  }

  event(channel: number, bytes: Uint8Array, about: object): boolean {
    return this.#channels.get(channel)?.event(bytes, about) ?? false;
  }

  cancelEvents(channel: number, about: object): number {
    const ordinals = this.#channels.get(channel)?.cancel(about) ?? [];
    for (const ordinal of ordinals) this.#cancelled.push(channel, ordinal);
    return ordinals.length;
  }

  closeChannel(channel: number): void {
    this.#channels.get(channel)?.close();
    this.#channels.delete(channel);
  }

  allocate(length: number): SharedRing | undefined {
    return this.#rings.allocate(length);
  }

  free(ring: SharedRing): void {
    this.#rings.free(ring);
  }

  completed(): void {
    this.#rings.completed();
  }

  /** The turn that a doorbell asks the device's driver for comes before the check phase. */
  turn(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  override doorbell(queuePair: number): void {
    this.#file.doorbell(queuePair);
  }

  override eventRead(channel: number, ordinal: number): void {
    this.#channels.get(channel)?.read(ordinal);
  }

  override channelClosed(channel: number): void {
    this.#file.channelClosed(channel);
    // Nobody reads there any more, and need be told of what was taken back.
    this.#cancelled = [];
  }

  protected command(bytes: Uint8Array): CommandResult | Promise<CommandResult> {
    return this.#file.command(bytes);
  }

  protected override takeCancelled(): Uint8Array | undefined {
    if (this.#cancelled.length === 0) return undefined;
    const words = Uint32Array.from(this.#cancelled);
    this.#cancelled = [];
    return new Uint8Array(words.buffer);
  }

  protected end(): void {
    this.#file.close();
    for (const channel of this.#channels.values()) channel.close();
    this.#channels.clear();
    this.#rings.close();
    this.memory.close();
  }
}

/** One of rdma_cm: its channel has the number 0, and is told of events one byte for each. */
export class OpenRdmaCmFile extends OpenFile {
  readonly descriptor = undefined;
  readonly memory: ClientMemory;
  readonly #file: RdmaCmFile;
  readonly #listens: () => void;
  #channel: Connection | undefined;
  #early = 0;

  /** @param listens called when an id has begun to listen */
  constructor(server: UverbsServer, number: number, memory: ClientMemory, listens: () => void) {
    super(number);
    this.memory = memory;
    this.#listens = listens;
    this.#file = server.openRdmaCm({ memory, number, eventReady: () => this.#eventReady() });
  }

  openChannel(connection: Connection, channel: number): boolean {
    if (channel !== 0 || this.#channel !== undefined) return false;
    this.#channel = connection;
    return true;
  }

  channelOpened(): void {
    if (this.#early > 0) this.#channel?.sendBytes(new Uint8Array(this.#early));
    this.#early = 0;
  }

  protected command(bytes: Uint8Array): CommandResult | Promise<CommandResult> {
    const result = this.#file.command(bytes);
    if (bytes[0] === LISTEN) void Promise.resolve(result).then(({ errno }) => errno === 0 && this.#listens());
    return result;
  }

  protected end(): void {
    this.#file.close();
    this.#channel?.close();
    this.memory.close();
  }

  #eventReady(): void {
    if (this.#channel === undefined) this.#early++;
    else this.#channel.sendBytes(ONE);
  }
}

function answer(connection: Connection, id: number, { errno, response }: CommandResult): void {
  connection.send(FrameType.Answer, id, errno, response);
}

/** Of rdma_cm's commands. */
const LISTEN = 7;
const ONE = new Uint8Array(1);
