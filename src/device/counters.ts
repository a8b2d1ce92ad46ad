/** Counters of a device for frames that never reach a queue pair: one for each cause (ref:hostile#3). */
import { FrameStatus } from '../../packets/frame.ts';

/**
 * Received frames, and the causes of drops.
 *
 * @example
 * ```ts
 * import { attachDevice, World } from 'rocev2';
 *
 * const world = new World({ seed: 1, faults: { corrupt: 1 } });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const cq = a.createCq(1);
 * const qp = a.allocPd().createQp({ sendCq: cq, recvCq: cq });
 * const connecting = a.cm.connect({ address: '10.0.0.2', port: 7471, qp });
 * await world.run(connecting).catch(() => console.log('no connection')); // no connection
 * console.log(b.counters.badIcrc > 0); // true
 * ```
 */
export class DeviceCounters {
  /** RoCE packets for a queue pair, with a right ICRC. */
  receivedFrames = 0;
  /** Ethernet frames to another MAC address. */
  otherHost = 0;
  /** Ethernet frames of another VLAN than the device's: tagged ones when it has none, all others when it has one. */
  otherVlan = 0;
  /** The frame ends within a header, or before the end that the IP length gives. */
  truncated = 0;
  /** IP version, IPv4 header length or total length impossible, or IPv4 options. */
  badIpHeader = 0;
  /** IPv4 header checksum wrong. */
  badIpChecksum = 0;
  /** An IPv4 fragment. */
  fragment = 0;
  /** UDP length impossible. */
  badUdpLength = 0;
  /** Not RoCE at all. On Ethernet, ARP, neighbour discovery and pings among them are answered. */
  notRoce = 0;
  /** An opcode that does not exist. */
  unknownOpcode = 0;
  /** Transport header version other than 0. */
  badTransportVersion = 0;
  /** Pad count larger than what follows the headers. */
  badPad = 0;
  /** Shorter than the headers of its opcode. */
  badHeaderLength = 0;
  /** ICRC wrong: damaged in transit. */
  badIcrc = 0;
  /** No queue pair has this number. */
  badQpn = 0;
  /** To a multicast group that no queue pair here is attached to. */
  otherGroup = 0;
  /**
   * Datagrams to an IP address that is not ours, those to queue pair 1 included, though the MAC address is ours or a
   * group's.
   */
  otherAddress = 0;
  /**
   * Datagrams whose IP or MAC source cannot be that of another host: broadcast, a group, unspecified, on Ethernet one
   * of our own.
   */
  badSource = 0;
  /**
   * Errors of our own while a frame or a timer was handled. Each took down at most one queue pair or one message; the
   * first of each place is an 'internal-error' event of the device.
   */
  internalErrors = 0;
}

const CAUSES: Readonly<Record<FrameStatus, keyof DeviceCounters>> = {
  [FrameStatus.Ok]: 'receivedFrames',
  [FrameStatus.NotIp]: 'notRoce',
  [FrameStatus.NotUdp]: 'notRoce',
  [FrameStatus.NotRoce]: 'notRoce',
  [FrameStatus.Truncated]: 'truncated',
  [FrameStatus.BadIpHeader]: 'badIpHeader',
  [FrameStatus.BadIpChecksum]: 'badIpChecksum',
  [FrameStatus.Fragment]: 'fragment',
  [FrameStatus.BadUdpLength]: 'badUdpLength',
  [FrameStatus.UnknownOpcode]: 'unknownOpcode',
  [FrameStatus.BadTransportVersion]: 'badTransportVersion',
  [FrameStatus.BadPad]: 'badPad',
  [FrameStatus.BadHeaderLength]: 'badHeaderLength',
};

/** The counter for a frame that `parseFrame` refused. */
export function dropCauseOf(status: FrameStatus): keyof DeviceCounters {
  return CAUSES[status];
}
