/**
 * Calls on what queue pairs are made from and use: domains, completion queues, memory, windows, shared receive queues,
 * address handles; and what is asked of the port. Owns how bytes and completions look to the caller. Never: queue pairs
 * and connections.
 */
import type { Device, DeviceEvent } from 'rocev2';
import { type MemoryRegion, WcStatus, WorkCompletion } from 'rocev2/transport';
import type { AsyncEvent, HostCalls, HostCompletion } from './host-control.ts';
import { accessBits, CountingCq, DONE, type Handlers, type Objects, present, refused } from './in-process-objects.ts';
import { addressVector, receiveOf } from './in-process-work.ts';

type ResourceCall = Exclude<keyof Handlers, `qp.${string}` | `mcast.${string}` | `cm.${string}`>;

/** The calls that need no queue pair. */
export function resourceCalls(objects: Objects): Pick<Handlers, ResourceCall> {
  return {
    ...domainAndQueueCalls(objects),
    ...memoryCalls(objects),
    ...sharedQueueCalls(objects),
    ...portCalls(objects),
    reset: async () => {
      objects.destroyAll();
      await eventsOf(objects);
      return DONE;
    },
  };
}

function domainAndQueueCalls(objects: Objects) {
  const { device, pds, cqs } = objects;
  const wc = new WorkCompletion();
  return {
    'pd.alloc': ({ pd }) => {
      pds.make(pd, () => device.allocPd());
      return DONE;
    },
    'pd.dealloc': ({ pd }) => {
      pds.remove(pd, (domain) => domain.dealloc());
      return DONE;
    },
    'cq.create': ({ cq, entries }) => {
      cqs.make(cq, () => makeCountingCq(device, entries));
      return DONE;
    },
    'cq.destroy': ({ cq }) => {
      cqs.remove(cq, (queue) => device.destroyCq(queue));
      return DONE;
    },
    'cq.poll': ({ cq, max }) => {
      const queue = cqs.get(cq);
      const completions: HostCompletion[] = [];
      while (completions.length < max && queue.poll(wc)) completions.push(completionOf(wc));
      return { completions };
    },
    'cq.arm': ({ cq, solicitedOnly }) => {
      cqs.get(cq).arm(solicitedOnly);
      return DONE;
    },
    'cq.events': ({ cq }) => ({ count: cqs.get(cq).takeEvents() }),
  } satisfies Partial<Handlers>;
}

/** The device makes and keeps the queue; which one it made is not its business. */
function makeCountingCq(device: Device, entries: number): CountingCq {
  let made: CountingCq | undefined;
  device.createCq(entries, (capacity, notified, most) => {
    made = new CountingCq(capacity, notified, most);
    return made;
  });
  if (made === undefined) throw refused('ENOMEM', 'the device made no completion queue');
  return made;
}

function memoryCalls(objects: Objects) {
  const { device, pds, mrs, mws } = objects;
  return {
    'mr.reg': ({ mr, pd, length, access }) => {
      const region = mrs.make(mr, () => register(objects, { pd, length, access }));
      return { va: region.iova, lkey: region.lkey, rkey: region.rkey };
    },
    'mr.dereg': ({ mr }) => {
      mrs.remove(mr, (region) => device.deregMr(region));
      return DONE;
    },
    'mem.read': ({ mr, offset, length }) => ({
      hex: Buffer.from(bytesOf(mrs.get(mr), offset, length)).toString('hex'),
    }),
    'mem.write': ({ mr, offset, hex }) => {
      if (!/^(?:[0-9a-f]{2})*$/i.test(hex)) throw refused('EINVAL', 'bytes are pairs of hexadecimal digits');
      const bytes = Buffer.from(hex, 'hex');
      bytesOf(mrs.get(mr), offset, bytes.length).set(bytes);
      return DONE;
    },
    'mw.alloc': ({ mw, pd }) => {
      const domain = pds.get(pd);
      return { rkey: mws.make(mw, () => domain.allocMw()).rkey };
    },
    'mw.dealloc': ({ mw }) => {
      mws.remove(mw, (window) => window.dealloc());
      return DONE;
    },
  } satisfies Partial<Handlers>;
}

function register({ pds }: Objects, { pd, length, access }: Omit<HostCalls['mr.reg']['takes'], 'mr'>): MemoryRegion {
  const domain = pds.get(pd);
  if (!Number.isSafeInteger(length) || length < 0) throw refused('EINVAL', `a region has no ${length} bytes`);
  if (length > MAX_REGION_BYTES) throw refused('ENOMEM', `a region has at most ${MAX_REGION_BYTES} bytes`);
  // What is in memory is durable here: nothing outlives this process but this process.
  return domain.regMr(length, { access: accessBits(access), persistent: () => {} });
}

/** A part of a region, shared with it. */
function bytesOf({ bytes }: MemoryRegion, offset: number, length: number): Uint8Array {
  const inside = Number.isSafeInteger(offset) && Number.isSafeInteger(length) && offset >= 0 && length >= 0;
  if (!inside || offset + length > bytes.length)
    throw refused('ERANGE', `bytes ${offset} to ${offset + length} are not all in a region of ${bytes.length}`);
  return bytes.subarray(offset, offset + length);
}

function sharedQueueCalls(objects: Objects) {
  const { pds, srqs, ahs } = objects;
  return {
    'srq.create': ({ srq, pd, maxWr, xrcd, cq }) => {
      const domain = pds.get(pd);
      if (xrcd === undefined || cq === undefined) {
        srqs.make(srq, () => domain.createSrq({ maxWr }));
        return DONE;
      }
      const of = { xrcd: objects.domainOf(xrcd), cq: objects.cqs.get(cq) };
      return { srqn: srqs.make(srq, () => domain.createSrq({ maxWr, ...of })).srqn };
    },
    'srq.modify': ({ srq, limit }) => {
      srqs.get(srq).modify({ limit });
      return DONE;
    },
    'srq.recv': ({ srq, wrId, pieces }) => {
      srqs.get(srq).postRecv(receiveOf(objects, wrId, pieces));
      return DONE;
    },
    'srq.destroy': ({ srq }) => {
      srqs.remove(srq, (queue) => queue.destroy());
      return DONE;
    },
    'ah.create': async ({ ah, pd, ...path }) => {
      const domain = pds.get(pd);
      ahs.demandFree(ah);
      const made = await domain.createAh(addressVector(objects.device, path));
      if (objects.closed) made.destroy();
      else ahs.make(ah, () => made);
      return DONE;
    },
    'ah.destroy': ({ ah }) => {
      ahs.remove(ah, (handle) => handle.destroy());
      return DONE;
    },
  } satisfies Partial<Handlers>;
}

function portCalls(objects: Objects) {
  const { device } = objects;
  return {
    events: async () => ({ events: await eventsOf(objects) }),
    'port.query': () => ({
      state: 'PORT_ACTIVE',
      linkLayer: 'Ethernet',
      lid: 0,
      smLid: 0,
      activeMtu: device.activeMtu,
      pkeys: [DEFAULT_PKEY],
    }),
    counters: () => {
      const all = { ...device.portCounters, ...device.counters };
      return { counters: Object.fromEntries(Object.entries(all).map(([name, value]) => [snakeCase(name), value])) };
    },
  } satisfies Partial<Handlers>;
}

/** Events in a queue. */
interface Waiting {
  readonly length: number;
  next(): Promise<IteratorResult<string | DeviceEvent>>;
}

/** Events that were not returned yet, object by object. Takes turns of the promise queue, and no time. */
async function eventsOf({ device, qps, cqs, srqs }: Objects): Promise<AsyncEvent[]> {
  const events: AsyncEvent[] = [];
  const take = async (queue: Waiting, of: Omit<AsyncEvent, 'event'>): Promise<void> => {
    while (queue.length > 0) {
      const { value } = await queue.next();
      // Verbs have no events that are objects.
      if (typeof value === 'string') events.push({ event: EVENT_NAMES[value] ?? value, ...of });
    }
  };
  await take(device.events, {});
  for (const [cq, queue] of cqs.all) await take(queue.events, { cq });
  for (const [srq, queue] of srqs.all) await take(queue.events, { srq });
  for (const [qp, made] of qps.all) await take(made.qp.events, { qp });
  return events;
}

function completionOf(wc: WorkCompletion): HostCompletion {
  const { wrId, status, opcode, byteLen, qpn, srcQpn, immData, invalidatedRkey, grh } = wc;
  // Of a failed work request verbs define only these fields; the others are empty here.
  if (status !== WcStatus.Success) return { wrId, status, opcode: 0, byteLen: 0, qpn, srcQp: 0, grh: false };
  return {
    ...{ wrId, status, opcode, byteLen, qpn, srcQp: srcQpn, grh },
    ...present({
      imm: immData < 0 ? undefined : immData,
      invalidatedRkey: invalidatedRkey < 0 ? undefined : invalidatedRkey,
    }),
  };
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Where our name is shorter than that of ibv_event_type. */
const EVENT_NAMES: Readonly<Record<string, string>> = { 'last-wqe-reached': 'qp-last-wqe-reached' };
/** The only one in the table of the port: full member of the default partition. */
const DEFAULT_PKEY = 0xff_ff;
const MAX_REGION_BYTES = 1 << 30;
