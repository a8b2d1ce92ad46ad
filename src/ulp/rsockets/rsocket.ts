/**
 * A stream of bytes over RDMA, compatible with rsocket(7) of librdmacm: data goes by RDMA WRITE into buffers that the
 * other side offers, and 32 bits of immediate data announce it.
 *
 * Owns the connected socket: its states, its pending calls, its one loop over completions (rdma:rsocket.c#rs_poll_cq).
 * The counting is in send-window.ts and receive-window.ts, the bytes in protocol.ts, connecting in connect.ts. Invalid
 * messages of the peer end the socket with an error that the next call reports; nothing throws from the loop.
 */
import type { IpAddress } from '../../../packets/address.ts';
import { RoceError } from '../../../packets/errors.ts';
import { WcOpcode, WcStatus, WorkCompletion, wcStatusName } from '../../../transport/work.ts';
import type { RdmaConnection, RdmaDevice } from '../../device/api.ts';
import { type Established, establish, type RSocketConnectOptions } from './connect.ts';
import type { RSocketQp } from './endpoint.ts';
import { CreditUpdater } from './granter.ts';
import { type IoMapping, IoMaps } from './iomaps.ts';
import type { RSocketSettings } from './options.ts';
import { MESSAGE_BYTES, messageData, messageOp, type RemoteSge, RsCtrl, RsOp, rsMessage } from './protocol.ts';
import { ReceiveWindow } from './receive-window.ts';
import { SendRing } from './send-ring.ts';
import { SendWindow } from './send-window.ts';
import { Events, Lock } from './waiting.ts';

/** Directions of `shutdown`. */
export type ShutdownHow = 'read' | 'write' | 'both';

/**
 * One end of a stream of bytes (rsocket(7)): made by `connect` or taken from an `RListener`.
 *
 * @example
 * ```ts
 * import { attachDevice, World } from 'rocev2';
 * import { RListener, RSocket } from 'rocev2/rsockets';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const listener = RListener.listen(b, { port: 7471 });
 * const taken = listener.accept();
 * const left = await world.run(RSocket.connect(a, { address: '10.0.0.2', port: 7471 }));
 * const right = await world.run(taken);
 * await world.run(left.send(Uint8Array.of(1, 2, 3)));
 * const into = new Uint8Array(8);
 * console.log(await world.run(right.recv(into)), into.join()); // 3 1,2,3,0,0,0,0,0
 * // The other side sees the end of the stream.
 * await world.run(left.shutdown('write'));
 * console.log(await world.run(right.recv(into))); // 0
 * ```
 */
export class RSocket {
  /** The peer's address. */
  readonly remoteAddress: IpAddress;
  /** The sizes in use. */
  readonly settings: RSocketSettings;
  readonly #endpoint: RSocketQp;
  readonly #connection: RdmaConnection;
  readonly #send: SendWindow;
  readonly #receive: ReceiveWindow;
  readonly #ring: SendRing;
  readonly #iomaps: IoMaps;
  readonly #granter: CreditUpdater;
  readonly #sending = new Lock();
  readonly #receiving = new Lock();
  readonly #events = new Events();
  /** False when the connection is over, in good order or not. */
  #connected = true;
  #readable = true;
  #writable = true;
  #error: RoceError | undefined;
  #received = 0;
  #closing: Promise<void> | undefined;

  /** For `connect` and `RListener`. @internal */
  constructor({ endpoint, connection, peer }: Established) {
    const { settings, listRegion, receiveRegion, sendRegion } = endpoint;
    this.settings = settings;
    this.remoteAddress = connection.remoteAddress;
    this.#endpoint = endpoint;
    this.#connection = connection;
    this.#send = new SendWindow(settings, listRegion.view);
    this.#send.begin(peer);
    this.#receive = new ReceiveWindow(settings, receiveRegion.bytes);
    this.#ring = new SendRing(sendRegion, settings.sendBuffer, settings.inline);
    this.#iomaps = new IoMaps(endpoint.pd, listRegion.view, settings.iomaps);
    this.#iomaps.begin(peer);
    this.#granter = new CreditUpdater(endpoint, this.#send, this.#receive, peer);
    this.#giveCredits();
    void this.#run();
  }

  /**
   * Connects to a listener. Rejects as `RdmaCm.connect`, with ERR_ROCE_ARGUMENT for sizes, ERR_ROCE_REJECTED for
   * another protocol.
   */
  static async connect(device: RdmaDevice, options: RSocketConnectOptions): Promise<RSocket> {
    return new RSocket(await establish(device, options));
  }

  /** Bytes that `recv` gives without waiting. */
  get available(): number {
    return this.#receive.available;
  }

  /** Whether the connection is over, in good order or not. */
  get ended(): boolean {
    return !this.#connected;
  }

  /** Why the socket cannot be used any more, where that is not a good end. */
  get error(): RoceError | undefined {
    return this.#error;
  }

  /**
   * Sends all bytes; resolves when they are in the send buffer or under way. Waits while the peer has no room. Calls
   * never interleave. Rejects with ERR_ROCE_CLOSED after the end of either side, ERR_ROCE_STATE when the peer broke the
   * protocol.
   */
  send(bytes: Uint8Array): Promise<void> {
    return this.#sending.run(async () => {
      await this.#tellIomaps();
      await this.#transfer(
        bytes,
        () => this.#send.target,
        (source, length) => {
          this.#endpoint.postWriteMessage(rsMessage(RsOp.Data, length), source, this.#send.takeTarget(length));
        },
      );
    });
  }

  /** Receives 1 byte up to what `into` holds; resolves with the number, 0 at the end. Rejects as `send`. */
  recv(into: Uint8Array): Promise<number> {
    return this.#receiving.run(async () => {
      if (into.length === 0) return 0;
      for (;;) {
        const length = this.#receive.read(into);
        this.#giveCredits();
        if (length > 0) return length;
        if (this.#error !== undefined) throw this.#error;
        if (!this.#readable || !this.#connected) return 0;
        await this.#events.next();
      }
    });
  }

  /**
   * Maps memory of ours, or so many fresh bytes, so that the peer may write it at `offset`, by default at its own
   * address. The mapping is sent before the next bytes (riomap). Throws ERR_ROCE_LIMIT when the list is full.
   */
  iomap(memory: Uint8Array | number, offset?: bigint): IoMapping {
    this.#demandOpen();
    return this.#iomaps.map(memory, offset);
  }

  /** Ends a mapping; the peer is not informed, its writes fail (riounmap). Throws ERR_ROCE_STATE without one. */
  iounmap(mapping: IoMapping): void {
    this.#demandOpen();
    this.#iomaps.unmap(mapping);
  }

  /**
   * Writes into what the peer has mapped at `offset` (riowrite); resolves with the bytes under way, fewer than asked
   * for where nothing is mapped. The peer gets no notification: send a message for that. Rejects as `send`.
   */
  iowrite(bytes: Uint8Array, offset: bigint): Promise<number> {
    return this.#sending.run(async () => {
      await this.#tellIomaps();
      let place: RemoteSge | undefined;
      return this.#transfer(
        bytes,
        (at) => {
          place = this.#iomaps.find(offset + BigInt(at));
          return place;
        },
        (source, length) => {
          if (place === undefined) return;
          this.#send.takeWrite(length);
          this.#endpoint.postWrite(rsMessage(RsOp.Write, length), source, place);
        },
      );
    });
  }

  /** Checks that the peer is alive with a WRITE of no bytes (SO_KEEPALIVE). The caller has the timer. */
  keepalive(): void {
    if (!this.#connected || !this.#send.controlsFree(1)) return;
    this.#send.controls++;
    this.#endpoint.postWrite(rsMessage(RsOp.Ctrl, RsCtrl.Keepalive), { sges: [] }, { addr: 0n, key: 0 });
  }

  /**
   * Ends a direction, after the sends before it; resolves when the peer has everything, or the connection is over
   * (rdma:rsocket.c#rshutdown). Ending the second direction ends both for the peer too.
   */
  shutdown(how: ShutdownHow): Promise<void> {
    if (how !== 'write') this.#readable = false;
    this.#events.happened();
    return this.#sending.run(() => this.#shutdown(how));
  }

  /** Shuts down, disconnects and frees everything, after pending sends. May be called more than once. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Ends at once: what is under way may or may not arrive, and what waits rejects with ERR_ROCE_CLOSED. */
  async destroy(): Promise<void> {
    this.#fail('ERR_ROCE_CLOSED', 'the socket was closed');
    await this.close();
  }

  async #close(): Promise<void> {
    await this.shutdown('both');
    this.#connected = false;
    await this.#connection.disconnect();
    this.#error ??= new RoceError('ERR_ROCE_CLOSED', 'the socket is closed');
    this.#iomaps.unmapAll();
    this.#endpoint.free();
    this.#events.happened();
  }

  async #shutdown(how: ShutdownHow): Promise<void> {
    if (!this.#connected || (how === 'write' && !this.#writable)) return;
    if (how !== 'read') this.#writable = false;
    else if (this.#writable) return;
    // Checked without a turn in between: credit updates use the same slots.
    while (this.#connected && !this.#send.controlsFree(1)) await this.#events.next();
    if (!this.#connected) return;
    this.#send.controls++;
    this.#endpoint.postMessage(rsMessage(RsOp.Ctrl, this.#readable ? RsCtrl.Shutdown : RsCtrl.Disconnect));
    await this.#events.until(() => !this.#connected || this.#send.idle);
  }

  /**
   * Sends bytes in pieces that begin small, so that the peer's work overlaps ours, and double (rdma:rsocket.c#rsend).
   * `place` returns how much fits at an offset, undefined to stop; `post` sends a piece. Resolves with the bytes
   * posted.
   */
  async #transfer(
    bytes: Uint8Array,
    place: (at: number) => { readonly length: number } | undefined,
    post: (source: ReturnType<SendRing['put']>, length: number) => void,
  ): Promise<number> {
    let overlap = FIRST_TRANSFER;
    let at = 0;
    if (bytes.length === 0) this.#demandWritable();
    while (at < bytes.length) {
      await this.#untilWritable();
      const room = place(at);
      if (room === undefined) break;
      const length = Math.min(bytes.length - at, overlap, this.#send.freeBytes, room.length);
      if (overlap < LARGEST_TRANSFER) overlap *= 2;
      post(this.#ring.put(bytes, at, length), length);
      at += length;
    }
    return at;
  }

  async #tellIomaps(): Promise<void> {
    while (this.#iomaps.untold) {
      await this.#untilWritable();
      const told = this.#iomaps.takeUntold();
      if (told === undefined) return;
      this.#send.takeMessage(told.bytes.length);
      const source = this.#ring.put(told.bytes, 0, told.bytes.length);
      this.#endpoint.postWriteMessage(rsMessage(RsOp.IomapSgl, told.slot), source, told);
    }
  }

  async #untilWritable(): Promise<void> {
    await this.#events.until(() => this.#send.open || !this.#writable || !this.#connected);
    this.#demandWritable();
    if (!this.#send.targetIsSound) {
      this.#breach('offered a buffer beyond the end of memory');
      this.#demandWritable();
    }
  }

  #demandWritable(): void {
    this.#demandOpen();
    if (!this.#writable || !this.#connected)
      throw new RoceError('ERR_ROCE_CLOSED', 'the connection is shut down for sending');
  }

  #demandOpen(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  /** Takes completions until there will be no more. */
  async #run(): Promise<void> {
    const { cq } = this.#endpoint;
    const wc = new WorkCompletion();
    for (;;) {
      const { done, value } = await cq.next();
      if (done === true) break;
      this.#take(value);
      while (cq.poll(wc)) this.#take(wc);
      this.#giveCredits();
      this.#events.happened();
    }
    if (this.#connected) this.#fail('ERR_ROCE_CLOSED', 'the device was closed');
  }

  /** Posts receives for those that completed, and sends credit updates. The device may have been closed meanwhile. */
  #giveCredits(): void {
    if (!this.#connected) return;
    try {
      for (; this.#received > 0; this.#received--) this.#endpoint.postReceive();
      this.#granter.give();
    } catch (error) {
      if (!(error instanceof RoceError)) throw error;
      this.#fail('ERR_ROCE_CLOSED', error.message);
    }
  }

  #take(wc: WorkCompletion): void {
    if ((wc.opcode & WcOpcode.Recv) === 0) this.#sendCompleted(wc);
    else if (this.#connected) this.#receiveCompleted(wc);
  }

  #sendCompleted({ wrId, status }: WorkCompletion): void {
    if (this.#send.workCompleted(wrId)) this.#connected = false;
    if (status !== WcStatus.Success && this.#connected) this.#lost(status);
  }

  #receiveCompleted(wc: WorkCompletion): void {
    if (wc.status !== WcStatus.Success) {
      this.#lost(wc.status);
      return;
    }
    this.#received++;
    const { messageSend } = this.settings;
    if (messageSend !== (wc.opcode === WcOpcode.Recv)) {
      this.#breach('sent a message in a way that was not agreed');
      return;
    }
    if (messageSend && wc.byteLen !== MESSAGE_BYTES) {
      this.#breach(`sent a message of ${wc.byteLen} bytes`);
      return;
    }
    const message = messageSend ? this.#endpoint.receivedMessage(wc.wrId) : wc.immData >>> 0;
    this.#messageArrived(message, messageSend ? messageData(message) : wc.byteLen);
  }

  /** @param written bytes that the WRITE of the message brought */
  #messageArrived(message: number, written: number): void {
    const op = messageOp(message);
    const data = messageData(message);
    switch (op) {
      case RsOp.Data:
        if (written !== data || !this.#receive.arrived(data)) this.#breach(`claimed ${data} bytes it had no room for`);
        break;
      case RsOp.Sgl:
        if (!this.#send.grant(data)) this.#breach('granted more messages than it has room for');
        break;
      case RsOp.IomapSgl:
        // rsocket.c counts these when sent, not when received, and so loses a credit each.
        this.#receive.arrivedEmpty();
        break;
      case RsOp.Ctrl:
        this.#controlArrived(data);
        break;
      default:
        this.#breach(`sent a message of type ${op}`);
    }
  }

  #controlArrived(control: number): void {
    if (control === RsCtrl.Disconnect) this.#connected = false;
    else if (control === RsCtrl.Shutdown) {
      if (this.#writable) this.#readable = false;
      else this.#connected = false;
    }
  }

  #breach(what: string): void {
    this.#fail('ERR_ROCE_STATE', `the peer broke the rsocket protocol: it ${what}`);
  }

  /** Work failed: after both directions were shut down here, that is also the end of the peer. */
  #lost(status: WcStatus): void {
    if (!this.#readable && !this.#writable) this.#connected = false;
    else if (status === WcStatus.WrFlushErr)
      this.#fail('ERR_ROCE_CLOSED', 'the peer ended the connection without a word');
    else this.#fail('ERR_ROCE_CLOSED', `the connection failed: ${wcStatusName(status)}`);
  }

  #fail(code: 'ERR_ROCE_CLOSED' | 'ERR_ROCE_STATE', reason: string): void {
    this.#error ??= new RoceError(code, reason);
    this.#connected = false;
    this.#events.happened();
  }
}

/** Bytes of the first piece of a send, and the largest (RS_OLAP_START_SIZE, RS_MAX_TRANSFER). */
const FIRST_TRANSFER = 2048;
const LARGEST_TRANSFER = 65_536;
