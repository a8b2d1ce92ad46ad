/**
 * Opens a device in a worker thread that owns its link: starts the worker, waits until the link is open, and handles
 * the worker's end. Whatever ends it (close, a failed link, a bug of ours), every pending promise settles and `closed`
 * gives the reason.
 */
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { RoceError } from '../../../packets/errors.ts';
import type { LinkFacts, OpenRdmaDevice } from '../../device/api.ts';
import type { FaultOptions } from '../links/fault-link.ts';
import type { CaptureSink } from '../links/index.ts';
import type { OpenDeviceOptions } from '../open-here.ts';
import { unpackFrames } from './capture-feed.ts';
import { Channel, type WorkerNotification } from './channel.ts';
import { makeControl, type SharedControl, Word } from './control.ts';
import type { WorkerSeed } from './seed.ts';
import type { DeviceFacts } from './wire.ts';
import { fromWire, roceFromWire } from './wire-error.ts';
import { WorkerDevice } from './worker-device.ts';
import { workerSource } from './worker-source.ts';

/** Options are data: they are cloned. Callbacks run in the application's thread, or are not supported. */
export interface OpenWorkerDeviceOptions extends Omit<OpenDeviceOptions, 'captureSink' | 'faults' | 'thread'> {
  /** The stack runs in a thread of its own. */
  readonly thread: 'worker';
  /** Faults on the wire, by rule or by chance. */
  readonly faults?: Omit<FaultOptions, 'observer'>;
  /**
   * Called in the application's thread, a moment later. A sink that falls 64 MiB behind misses frames, and gets their
   * number.
   */
  readonly captureSink?: CaptureSink | ((link: LinkFacts) => CaptureSink);
}

/** @throws RoceError as `openDevice` does */
export async function openWorkerDevice(options: OpenWorkerDeviceOptions): Promise<OpenRdmaDevice> {
  const session = new Session(options);
  const facts = await session.opened;
  return session.open(facts);
}

/** One worker from its start to its end. */
class Session {
  readonly opened: Promise<DeviceFacts>;
  readonly #control: SharedControl = makeControl();
  readonly #words = new Int32Array(this.#control.words);
  readonly #worker: Worker;
  readonly #channel: Channel;
  /** The worker has ended. */
  readonly #ended: Promise<void>;
  readonly #closed: Promise<RoceError | undefined>;
  #settleClosed: (reason: RoceError | undefined) => void = () => {};
  readonly #sinkOption: OpenWorkerDeviceOptions['captureSink'];
  readonly #link: string;
  #settleOpened: { resolve: (facts: DeviceFacts) => void; reject: (error: unknown) => void } = NO_PROMISE;
  #device: WorkerDevice | undefined;
  #sink: CaptureSink | undefined;
  #skewNs = 0;
  /** Why the worker has ended. */
  #reason: RoceError | undefined;
  #inGoodOrder = false;
  #closing: Promise<void> | undefined;

  constructor({ captureSink, thread: _thread, ...options }: OpenWorkerDeviceOptions) {
    this.#sinkOption = captureSink;
    this.#link = options.link;
    this.opened = new Promise((resolve, reject) => {
      this.#settleOpened = { resolve, reject };
    });
    this.#closed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
    const { port1, port2 } = new MessageChannel();
    const seed = { port: port2, control: this.#control, options, captures: captureSink !== undefined };
    const worker = startWorker(seed, port1);
    this.#worker = worker;
    this.#channel = new Channel(worker, port1, this.#words, (event) => this.#told(event));
    worker.on('error', (cause) => {
      this.#reason ??= new RoceError('ERR_ROCE_CLOSED', `${this.#link}: its worker thread failed: ${cause.message}`, {
        cause,
      });
    });
    this.#ended = new Promise((resolve) => worker.once('exit', () => resolve(this.#exited())));
  }

  open(facts: DeviceFacts): OpenRdmaDevice {
    const device = new WorkerDevice(this.#channel, this.#control, facts);
    this.#device = device;
    return {
      device,
      link: facts.link,
      closed: this.#closed,
      close: () => {
        this.#closing ??= this.#close(device);
        return this.#closing;
      },
    };
  }

  async #close(device: WorkerDevice): Promise<void> {
    try {
      if (!this.#channel.gone && !this.#inGoodOrder) {
        this.#channel.call('closeDevice');
        device.end();
        await this.#channel.ask('shutdown', () => undefined);
      }
    } catch (error) {
      // It has ended meanwhile, as intended.
      if (!(error instanceof RoceError && error.code === 'ERR_ROCE_CLOSED')) throw error;
    }
    device.end();
    await this.#ended;
  }

  #told(event: WorkerNotification): void {
    switch (event.kind) {
      case 'opening':
        this.#openSink(event.link, event.timeOrigin);
        return;
      case 'frames':
        this.#showFrames(event.packed);
        return;
      case 'opened':
        this.#settleOpened.resolve(event.facts);
        return;
      case 'refused':
        this.#settleOpened.reject(fromWire(event.error));
        return;
      case 'ended':
        this.#inGoodOrder = true;
        this.#reason = event.error && roceFromWire(event.error);
        this.#settleClosed(this.#reason);
        this.#device?.told(event);
        return;
      default:
        this.#device?.told(event);
    }
  }

  #openSink(link: LinkFacts, timeOrigin: number): void {
    const option = this.#sinkOption;
    this.#skewNs = (timeOrigin - performance.timeOrigin) * 1e6;
    try {
      this.#sink = typeof option === 'function' ? option(link) : option;
    } catch (error) {
      // The application's own: a file that cannot be made. Nothing is opened then.
      this.#settleOpened.reject(error);
      void this.#worker.terminate();
    }
  }

  #showFrames(packed: Uint8Array): void {
    if (this.#sink !== undefined) unpackFrames(packed, this.#skewNs, this.#sink);
    Atomics.sub(this.#words, Word.Captured, packed.length);
  }

  #exited(): void {
    // Its exit may overtake its last messages (seen with Node 24).
    this.#channel.drain();
    if (!this.#inGoodOrder)
      this.#reason ??= new RoceError('ERR_ROCE_CLOSED', `${this.#link}: its worker thread has ended`);
    if (this.#reason !== undefined) this.#settleOpened.reject(this.#reason);
    // Before pending promises settle, so that their handlers can read the reason.
    this.#settleClosed(this.#reason);
    this.#channel.end();
    if (this.#reason === undefined) this.#device?.end();
    else this.#device?.fail();
  }
}

function startWorker(seed: WorkerSeed, ours: MessagePort): Worker {
  try {
    const { source, options } = workerSource(import.meta.url, 'main');
    return new Worker(source, {
      ...options,
      workerData: seed,
      transferList: [seed.port],
      name: `rocev2 ${seed.options.link}`,
    });
  } catch (cause) {
    // An open port would keep the process alive.
    ours.close();
    if (!(cause instanceof Error && cause.name === 'DataCloneError')) throw cause;
    throw new RoceError(
      'ERR_ROCE_ARGUMENT',
      `what a device in a worker is opened with must be data: ${cause.message}`,
      {
        cause,
      },
    );
  }
}

const NO_PROMISE = { resolve: () => {}, reject: () => {} };
