/**
 * The worker: opens the device where its link is and serves the verbs that the application calls. Ends with the link.
 */
import { type MessagePort, workerData } from 'node:worker_threads';
import type { LinkFacts } from '../../device/api.ts';
import type { Device } from '../../device/device.ts';
import type { CaptureSink, Link } from '../links/index.ts';
import { type OpenDevice, openHere } from '../open-here.ts';
import { AhServer } from './ah-server.ts';
import { CaptureFeed } from './capture-feed.ts';
import { CmServer } from './cm-server.ts';
import { Word } from './control.ts';
import { DatagramServer } from './datagram-server.ts';
import { KeyServer } from './key-server.ts';
import { Outbox } from './outbox.ts';
import { PostPoller } from './post-desk.ts';
import { QueueServer } from './queue-server.ts';
import type { WorkerSeed } from './seed.ts';
import { ServedObjects } from './served.ts';
import { SrqServer } from './srq-server.ts';
import { ownThread } from './thread-life.ts';
import { VerbServer } from './verb-server.ts';
import type { DeviceVerbs, VerbTable } from './verbs.ts';
import type { DeviceFacts, ToWorker } from './wire.ts';
import { toWire } from './wire-error.ts';
import { revive, type WorkerCounters } from './wire-values.ts';

async function run({ port, control, options, captures }: WorkerSeed): Promise<void> {
  const words = new Int32Array(control.words);
  const outbox = new Outbox(port, words);
  Atomics.store(words, Word.Thread, ownThread());
  process.on('exit', () => reportEnd(words));
  let opened: OpenDevice;
  try {
    opened = await openHere(captures ? { ...options, captureSink: feeds(outbox, words) } : options);
  } catch (error) {
    outbox.post({ kind: 'refused', error: toWire(error) });
    leave(outbox, port);
    return;
  }
  const { device } = opened;
  const served = new ServedObjects();
  const keys = new KeyServer(device, served, words);
  const queues = new QueueServer(device, outbox, served, keys);
  const desk = new PostPoller(control, queues);
  queues.expectPosts = () => desk.linger();
  // A receive that was posted before a datagram came is in its queue when the datagram is handled.
  device.beforeReceive = () => desk.drain();
  const server = new VerbServer(verbsOf(opened, outbox, served, queues, keys), outbox);
  port.on('message', (message: ToWorker) => {
    // Earlier posts are handled before the call.
    desk.drain();
    if (message === 0) desk.linger();
    else server.serve(message);
  });
  void opened.closed.then((error) => {
    // In one message with everything that the end of the device settles, so that the reason is known before promises
    // settle.
    outbox.hold();
    setImmediate(() => {
      const reason = error === undefined ? undefined : toWire(error);
      outbox.post({ kind: 'ended', error: reason, counters: countersOf(device) });
      leave(outbox, port);
    });
  });
  outbox.post({ kind: 'opened', facts: factsOf(opened) });
  void passEvents(device, outbox);
}

/** The other events of the device follow from how the worker ends. */
async function passEvents(device: Device, outbox: Outbox): Promise<void> {
  for await (const event of device.events) {
    if (typeof event === 'object')
      outbox.post({
        kind: 'device-event',
        event: event.kind === 'suspicious' ? event : { ...event, error: toWire(event.error) },
      });
  }
}

/** A handler for every verb: a kind of object without its table does not compile. */
function verbsOf(
  opened: OpenDevice,
  outbox: Outbox,
  served: ServedObjects,
  queues: QueueServer,
  keys: KeyServer,
): VerbTable {
  const { device } = opened;
  const ofDevice: DeviceVerbs = {
    resolve: (address) => device.resolve(revive(address)),
    counters: () => countersOf(device),
    closeDevice: () => device.close(),
    shutdown: () => opened.close(),
  };
  const ahs = new AhServer(served);
  return {
    ...ofDevice,
    ...queues.verbs,
    ...keys.verbs,
    ...ahs.verbs,
    ...new SrqServer(device, outbox, served, queues).verbs,
    ...new CmServer(device, outbox, queues).verbs,
    ...new DatagramServer(device, outbox, served, ahs).verbs,
  };
}

function countersOf({ counters, portCounters, cm, qpCount }: Device): WorkerCounters {
  return {
    device: { ...counters },
    port: { ...portCounters },
    cm: { ...cm.counters() },
    connections: cm.size,
    qps: qpCount,
  };
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

/** Ends everything that the link has left running. */
function leave(outbox: Outbox, port: MessagePort): void {
  outbox.flush();
  port.close();
  process.exit();
}

/** For an application that blocks in a call. */
function reportEnd(words: Int32Array): void {
  Atomics.store(words, Word.Gone, 1);
  Atomics.add(words, Word.Answers, 1);
  Atomics.notify(words, Word.Answers);
}

const seed: WorkerSeed = workerData;
await run(seed);
