/**
 * One end of a connection for the programs that misbehave on purpose: a queue pair, a buffer to read into, and printed
 * lines for every completion. It reports what happens and checks nothing: the expectations of an experiment do.
 */

import type { Connection, Cq, Qp } from 'rocev2';
import { RoceError } from 'rocev2/packets';
import {
  Access,
  type MemoryRegion,
  QpState,
  WcOpcode,
  WcStatus,
  type WorkCompletion,
  WrOpcode,
  wcStatusName,
} from 'rocev2/transport';
import { printDeviceEvents } from '../../device-events.ts';
import {
  ADVERTISEMENT_BYTES,
  type RemoteBuffer,
  RPING_PORT,
  readAdvertisement,
  writeAdvertisement,
} from '../../rping/protocol.ts';
import type { ProgramContext } from './program.ts';

/** Tunables of a connection, as `AcceptOptions`, and where it is taken. */
export interface AcceptChoices {
  readonly port?: number;
  readonly rnrRetryCount?: number;
  readonly minRnrTimer?: number;
}

export class RpingEnd {
  readonly qp: Qp;
  /** 64 KiB that the peer may read and write. */
  readonly buffer: MemoryRegion;
  readonly #context: ProgramContext;
  readonly #cq: Cq;
  readonly #message: MemoryRegion;

  constructor(context: ProgramContext) {
    const { device } = context;
    this.#context = context;
    const pd = device.allocPd();
    this.#cq = device.createCq(QUEUE_DEPTH * 2);
    this.qp = pd.createQp({
      sendCq: this.#cq,
      recvCq: this.#cq,
      maxSendWr: QUEUE_DEPTH,
      maxRecvWr: QUEUE_DEPTH,
    });
    this.#message = pd.regMr(ADVERTISEMENT_BYTES, { access: Access.LocalWrite });
    this.buffer = pd.regMr(BUFFER_BYTES, { access: REMOTE_ACCESS });
    this.qp.modifyNow({ state: QpState.Init, access: REMOTE_ACCESS });
    void this.#tellEvents();
  }

  postReceive(): void {
    this.qp.postRecv({ wrId: 0, sges: [{ mr: this.#message }] });
  }

  /** The peer's buffer, from the last message. */
  get advertisement(): RemoteBuffer {
    return readAdvertisement(this.#message.view);
  }

  /** Advertises a buffer to the peer, a real one or not. */
  advertise(buffer: RemoteBuffer): void {
    const bytes = new Uint8Array(ADVERTISEMENT_BYTES);
    writeAdvertisement(new DataView(bytes.buffer), buffer);
    this.send(bytes);
  }

  send(bytes: Uint8Array): void {
    this.qp.postSend({ wrId: 0, opcode: WrOpcode.Send, inline: bytes });
  }

  read({ address, rkey, size }: RemoteBuffer): void {
    const sges = [{ mr: this.buffer, length: size }];
    this.qp.postSend({ wrId: 0, opcode: WrOpcode.RdmaRead, sges, remoteAddr: address, rkey });
  }

  /** Waits for the next completion and prints it: `completion of SEND: status 0 (success)`. */
  async next(): Promise<WorkCompletion> {
    const { value, done } = await unlessAborted(this.#cq.next(), this.#context.signal);
    if (done === true) throw new RoceError('ERR_ROCE_CLOSED', 'the device was closed');
    this.#context.output.line(
      `completion of ${this.#operation(value)}: status ${value.status} (${wcStatusName(value.status)})`,
    );
    return value;
  }

  /** Prints completions up to the first that failed, and those that fail with it. */
  async untilFailure(): Promise<void> {
    while ((await this.next()).status === WcStatus.Success);
    await new Promise((resolve) => setImmediate(resolve));
    await this.#rest();
    this.#context.output.line(`the queue pair is in ${this.qp.stateName}`);
  }

  /** Disconnects, prints what is left and frees the queue pair. */
  async end(connection: Connection): Promise<void> {
    await connection.disconnect();
    await this.#rest();
    this.qp.destroy();
  }

  /** Takes one client. */
  async accept({ port = RPING_PORT, ...options }: AcceptChoices = {}): Promise<Connection> {
    const { device, signal } = this.#context;
    const listener = device.cm.listen(port);
    try {
      const { value: request, done } = await unlessAborted(listener.next(), signal);
      if (done === true) throw new RoceError('ERR_ROCE_CLOSED', 'the device was closed');
      return await request.accept({ qp: this.qp, ...options });
    } finally {
      listener.close();
    }
  }

  async #rest(): Promise<void> {
    while (this.#cq.length > 0) await this.next();
  }

  async #tellEvents(): Promise<void> {
    void printDeviceEvents(this.#context.device.events, this.#context.output);
    for await (const event of this.qp.events) this.#context.output.line(`event: ${event}`);
  }

  #operation(wc: WorkCompletion): string {
    return Object.entries(WcOpcode).find(([, code]) => code === wc.opcode)?.[0] ?? String(wc.opcode);
  }
}

/** `promise`, or ERR_ROCE_CLOSED when the program is to end first. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return Promise.race([
    promise,
    untilAborted(signal).then(() => Promise.reject(new RoceError('ERR_ROCE_CLOSED', 'interrupted'))),
  ]);
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** A key that opens nothing. */
export function wrongKey(buffer: RemoteBuffer): RemoteBuffer {
  return { ...buffer, rkey: (buffer.rkey ^ 0x5a_5a_5a) >>> 0 };
}

const QUEUE_DEPTH = 8;
const BUFFER_BYTES = 64 * 1024;
const REMOTE_ACCESS = Access.LocalWrite | Access.RemoteRead | Access.RemoteWrite;
