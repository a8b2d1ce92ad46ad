/**
 * Devices that lack something, made of our own: what a NIC refuses, hides or does otherwise that does not have a
 * feature. Owns the table; the host control that refuses is limited-host-control.ts.
 *
 * On the wire such a device answers requests for what it lacks as ref:conformance#OPS-12 and ref:conformance#OPS-13
 * have it; verbs and capabilities say that it is not there. No rule may fail for it.
 */
import type { Device, DeviceLimits, Qp } from 'rocev2';
import { type FrameWriter, Op } from 'rocev2/packets';
import { IP_PROTOCOL_UDP, IPV4_BYTES } from 'rocev2/packets/network';
import { QpState, QpType } from 'rocev2/transport';
import { FEATURES, type Feature } from '../host-control/host-control.ts';

/** A device that is less than ours, or other. */
export interface LimitedDevice {
  /** A few words with hyphens: `no-atomics`. */
  readonly id: string;
  /** What it lacks or does, a sentence without a full stop. */
  readonly says: string;
  /** Features it does not have. */
  readonly lacks?: readonly Feature[];
  /** Limits that are less than ours, as its capabilities say. */
  readonly limits?: Partial<DeviceLimits>;
  /** The only IP version it speaks. */
  readonly ipVersion?: 4 | 6;
  /** Largest IP packet of its link in bytes. */
  readonly mtu?: number;
  /** Cases that neither ask about what it lacks nor use it may go otherwise too. */
  readonly everywhere?: true;
  /** What it does otherwise, done to our device before its first packet. */
  readonly alter?: (device: Device) => void;
}

const SENTENCES: Readonly<Record<Feature, string>> = {
  uc: 'no UC queue pairs',
  ud: 'no UD queue pairs',
  srq: 'no shared receive queues',
  mw2: 'no memory windows',
  atomics: 'no atomics',
  flush: 'no FLUSH',
  'atomic-write': 'no ATOMIC WRITE',
  mcast: 'no multicast groups',
  cm: 'no connection manager: nothing listens at queue pair 1',
  cnp: 'no congestion notifications',
  'preset-msn': 'no way to choose the first MSN, as with every device but ours',
  credits: 'no credits unless the connection manager agrees on them',
  apm: 'no automatic path migration',
  xrc: 'no XRC',
  'last-wqe': 'no event when a queue pair has taken its last receive of a shared receive queue',
};

const ALTERATIONS: Readonly<Partial<Record<Feature, (device: Device) => void>>> = {
  cm: deafToMads,
  flush: (device) => reserve(device, Op.Flush),
  'atomic-write': (device) => reserve(device, Op.AtomicWrite),
};

/** All there are: one for each feature, and those that are limited otherwise. */
export const LIMITED_DEVICES: readonly LimitedDevice[] = [
  ...FEATURES.map((feature): LimitedDevice => {
    const alter = ALTERATIONS[feature];
    return {
      ...{ id: `no-${feature}`, says: SENTENCES[feature], lacks: [feature] },
      ...(alter === undefined ? {} : { alter }),
      // Whether a device has congestion control shows in the ECN bits of all that it sends.
      ...(feature === 'cnp' ? { everywhere: true } : {}),
    };
  }),
  { id: 'ipv4-only', everywhere: true, says: 'no IPv6 address', ipVersion: 4 },
  { id: 'ipv6-only', everywhere: true, says: 'no IPv4 address', ipVersion: 6 },
  { id: 'mtu-256', everywhere: true, says: 'a path MTU of 256 bytes', mtu: 256 + 80 },
  { id: 'one-qp', everywhere: true, says: 'one queue pair at a time', limits: { maxQp: 1 } },
  { id: 'one-sge', everywhere: true, says: 'one piece of memory for each request', limits: { maxSge: 1 } },
  { id: 'one-read', everywhere: true, says: 'one READ or atomic at a time, each way', limits: { maxQpRdAtom: 1 } },
  {
    id: 'credits',
    everywhere: true,
    says: 'credits in every ACK, agreed on or not',
    alter: giveCredits,
  },
  {
    id: 'cnp-per-port',
    everywhere: true,
    says: 'one pace of congestion notifications for the whole port',
    alter: paceCnpsPerPort,
  },
  {
    id: 'plain',
    everywhere: true,
    says: 'RC with SEND, WRITE and READ over IPv4, and nothing else',
    lacks: FEATURES,
    ipVersion: 4,
    limits: { maxSge: 1, maxQpRdAtom: 1 },
    alter: (device) => {
      for (const alter of Object.values(ALTERATIONS)) alter(device);
    },
  },
];

/** Packets to queue pair 1 are dropped. */
function deafToMads(device: Device): void {
  device.gsi.handleFrame = () => {};
}

/** An opcode of RC that the device has never heard of. */
function reserve(device: Device, op: number): void {
  beforeQueuePairs(device, (core, now, frame) => {
    if (frame.opcode !== op) return false;
    core.handleReserved(now, frame);
    return true;
  });
}

/** Notes what packets use of the device by themselves: without a call of its host. */
export function noteOnTheWire(device: Device, note: (feature: Feature) => void): void {
  const handleMad = device.gsi.handleFrame.bind(device.gsi);
  device.gsi.handleFrame = (now, frame) => {
    note('cm');
    handleMad(now, frame);
  };
  beforeQueuePairs(device, (_, __, { opcode }) => {
    if (opcode === Op.Flush) note('flush');
    if (opcode === Op.AtomicWrite) note('atomic-write');
    return false;
  });
}

type Core = Qp['core'];
type CoreFrame = Parameters<Core['handleFrame']>[1];

/** Gives packets to `first` before the queue pairs have them; `true` takes them away. */
function beforeQueuePairs(device: Device, first: (core: Core, now: number, frame: CoreFrame) => boolean): void {
  const known = new WeakSet<Core>();
  const before = device.beforeReceive;
  device.beforeReceive = () => {
    before?.();
    for (const { core } of device.queuePairs) {
      if (known.has(core)) continue;
      known.add(core);
      const handle = core.handleFrame.bind(core);
      core.handleFrame = (now, frame) => {
        if (!first(core, now, frame)) handle(now, frame);
      };
    }
  };
}

/**
 * Credits in every ACK, but of queue pairs with a shared receive queue. What the device sends is not limited: that
 * takes an agreement.
 */
function giveCredits(device: Device): void {
  const modify = device.modifyQp.bind(device);
  device.modifyQp = (qp, attributes) => {
    const own = qp.core.srq === undefined && qp.type === QpType.Rc;
    // The requester takes the setting on its way to RTS.
    const limits = attributes.state === QpState.Rts && attributes.sqPsn !== undefined;
    const gives = attributes.state === QpState.Rtr;
    modify(qp, own && (limits || gives) ? { ...attributes, flowControl: gives } : attributes);
    if (own && limits) modify(qp, { flowControl: true });
  };
}

/** A notification that follows another one too soon is not sent, whatever flow it is for. */
function paceCnpsPerPort(device: Device): void {
  const transmit = device.transmit.bind(device);
  let lastAt = Number.NEGATIVE_INFINITY;
  device.transmit = (writer) => {
    const from = writer.count;
    const more = transmit(writer);
    for (let i = from; i < writer.count; i++) {
      if (!isCnp(writer, i)) continue;
      const now = device.now();
      if (now - lastAt >= PORT_INTERVAL_NS) lastAt = now;
      else removeFrame(writer, i--);
    }
    return more;
  };
}

function isCnp({ bytes, starts }: FrameWriter, index: number): boolean {
  const ip = (starts[index] ?? 0) + ETHERNET_BYTES;
  const version = (bytes[ip] ?? 0) >>> 4;
  const header = version === 4 ? IPV4_BYTES : IPV6_BYTES;
  const protocol = bytes[ip + (version === 4 ? IPV4_PROTOCOL_AT : IPV6_NEXT_HEADER_AT)];
  return protocol === IP_PROTOCOL_UDP && bytes[ip + header + UDP_BYTES] === Op.Cnp;
}

function removeFrame(writer: FrameWriter, index: number): void {
  const { starts, lengths } = writer;
  starts.copyWithin(index, index + 1, writer.count);
  lengths.copyWithin(index, index + 1, writer.count);
  writer.count -= 1;
}

const ETHERNET_BYTES = 14;
const UDP_BYTES = 8;
const IPV6_BYTES = 40;
const IPV4_PROTOCOL_AT = 9;
const IPV6_NEXT_HEADER_AT = 6;
/** As the interval of our notification point (`NotificationParameters`). */
const PORT_INTERVAL_NS = 4000;
