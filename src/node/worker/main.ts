/**
 * The worker: opens the device where its link is and serves the verbs the application asks for. Ends with the wire.
 */
import { type MessagePort, workerData } from 'node:worker_threads';
import { InvariantError, invariant } from '../../../packets/errors.ts';
import type { LinkFacts } from '../../device/api.ts';
import type { CaptureSink, Link } from '../links/index.ts';
import { type OpenDevice, type OpenDeviceOptions, openDevice } from '../open.ts';
import { AhServer } from './ah-server.ts';
import { CaptureFeed } from './capture-feed.ts';
import { CmServer } from './cm-server.ts';
import { type SharedControl, Word } from './control.ts';
import { DatagramServer } from './datagram-server.ts';
import { KeyServer } from './key-server.ts';
import { Outbox } from './outbox.ts';
import { PostDesk } from './post-desk.ts';
import { QueueServer } from './queue-server.ts';
import { Served } from './served.ts';
import { SrqServer } from './srq-server.ts';
import type { DeviceFacts, ToWorker, WireCall } from './wire.ts';
import { toWire } from './wire-error.ts';

/** What the application's thread makes a worker with. */
export interface WorkerSeed {
  readonly port: MessagePort;
  readonly control: SharedControl;
  readonly options: OpenDeviceOptions;
  readonly captures: boolean;
}

async function run({ port, control, options, captures }: WorkerSeed): Promise<void> {
  const words = new Int32Array(control.words);
  const outbox = new Outbox(port, words);
  process.on('exit', () => sayGone(words));
  let opened: OpenDevice;
  try {
    opened = await openDevice(captures ? { ...options, captureSink: feeds(outbox, words) } : options);
  } catch (error) {
    outbox.post({ kind: 'refused', error: toWire(error) });
    leave(outbox, port);
    return;
  }
  const { device } = opened;
  const served = new Served();
  const keys = new KeyServer(device, served, words);
  const queues = new QueueServer(device, outbox, served, keys);
  const ahs = new AhServer(served);
  const desk = new PostDesk(control, queues);
  queues.expectPosts = () => desk.linger();
  // A receive that was posted before a datagram came is there when it is taken.
  device.beforeReceive = () => desk.drain();
  const server = new Server(opened, desk, outbox, [
    queues,
    keys,
    ahs,
    new SrqServer(device, outbox, served, queues),
    new CmServer(device, outbox, queues),
    new DatagramServer(device, outbox, served, ahs),
  ]);
  port.on('message', (message: ToWorker) => server.take(message));
  void opened.closed.then((error) => {
    // In one message with everything that the end of the device settles, so that who learns of it can learn why.
    outbox.hold();
    setImmediate(() => {
      const reason = error === undefined ? undefined : toWire(error);
      outbox.post({ kind: 'ended', error: reason, counters: queues.counters() });
      leave(outbox, port);
    });
  });
  outbox.post({ kind: 'opened', facts: factsOf(opened) });
}

/** Answers calls. */
class Server {
  readonly #opened: OpenDevice;
  readonly #desk: PostDesk;
  readonly #outbox: Outbox;
  readonly #servers: readonly object[];

  /** @param servers each verb is a method of one of them */
  constructor(opened: OpenDevice, desk: PostDesk, outbox: Outbox, servers: readonly object[]) {
    this.#opened = opened;
    this.#desk = desk;
    this.#outbox = outbox;
    this.#servers = servers;
  }

  take(message: ToWorker): void {
    // What was posted before a call is done before it.
    this.#desk.drain();
    if (message === 0) this.#desk.linger();
    else this.#serve(message);
  }

  #serve(call: WireCall): void {
    const { id, blocks } = call;
    try {
      const value = this.#invoke(call);
      if (value instanceof Promise) this.#answerLater(id, value);
      else if (id !== 0) this.#outbox.answer(id, blocks, value);
    } catch (error) {
      this.#outbox.refuse(id, blocks, error);
      if (error instanceof InvariantError) throw error;
    }
  }

  #answerLater(id: number, promise: Promise<unknown>): void {
    promise.then(
      (value) => this.#outbox.answer(id, false, value),
      (error: unknown) => {
        this.#outbox.refuse(id, false, error);
        if (error instanceof InvariantError) throw error;
      },
    );
  }

  #invoke({ verb, args }: WireCall): unknown {
    if (verb === 'closeDevice') return this.#opened.device.close();
    if (verb === 'shutdown') return this.#opened.close();
    const server = this.#servers.find((one) => verb in one);
    invariant(server !== undefined, `somebody serves ${verb}`);
    return Reflect.apply(Reflect.get(server, verb), server, args);
  }
}

function feeds(outbox: Outbox, words: Int32Array): (link: Link) => CaptureSink {
  return (link) => {
    outbox.post({ kind: 'opening', link: linkFacts(link), timeOrigin: performance.timeOrigin });
    return new CaptureFeed(outbox, words);
  };
}

function factsOf({ device, link }: OpenDevice): DeviceFacts {
  const { name, mac, addresses, limits, activeMtu, linkMtu, medium, vlan, pathTraits, guid } = device;
  return {
    name,
    mac,
    addresses: addresses.map((prefix) => `${prefix}`),
    limits,
    activeMtu,
    linkMtu,
    medium,
    vlan,
    pathTraits,
    guid,
    link: linkFacts(link),
  };
}

function linkFacts({ name, medium, mtu, addresses, sourcePort, maxUnacked }: Link): LinkFacts {
  return { name, medium, mtu, addresses, sourcePort, maxUnacked };
}

/** Whatever the link has left running ends here. */
function leave(outbox: Outbox, port: MessagePort): void {
  outbox.flush();
  port.close();
  process.exit();
}

/** For an application that stands still in a call. */
function sayGone(words: Int32Array): void {
  Atomics.store(words, Word.Gone, 1);
  Atomics.add(words, Word.Answers, 1);
  Atomics.notify(words, Word.Answers);
}

const seed: WorkerSeed = workerData;
await run(seed);
