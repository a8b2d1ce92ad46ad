/** Counters of a device for what never reaches a queue pair: one for every cause (ref:hostile#3). */
import { FrameStatus } from '../packets/frame.ts';

export class DeviceCounters {
  receivedFrames = 0;
  /** Ethernet frames to another station. */
  otherHost = 0;
  /** Ethernet frames of another VLAN than the device's: tagged ones when it has none, all others when it has one. */
  otherVlan = 0;
  truncated = 0;
  badIpHeader = 0;
  badIpChecksum = 0;
  fragment = 0;
  badUdpLength = 0;
  /** Not RoCE at all. On Ethernet, ARP, neighbour discovery and pings among them are answered. */
  notRoce = 0;
  unknownOpcode = 0;
  badTransportVersion = 0;
  badPad = 0;
  badHeaderLength = 0;
  badIcrc = 0;
  /** No queue pair has this number. */
  badQpn = 0;
  /** To a multicast group that no queue pair here is attached to. */
  otherGroup = 0;
  /** Datagrams to an IP address that is not ours, though the MAC address is. */
  otherAddress = 0;
  /** Congestion notification packets; no queue pair reacts to them yet. */
  cnpIgnored = 0;
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
