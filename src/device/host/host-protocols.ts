/**
 * The protocols of a host beside RoCE: neighbours (ARP, neighbour discovery, pings), group reports (IGMP, MLD) and TCP,
 * each where the medium needs it. Owns the choice of the protocol for a frame. Never looks at RoCE.
 */
import type { MacAddress } from '../../../packets/address.ts';
import { ETHERNET_BYTES, VLAN_TAG_BYTES } from '../../../packets/ethernet.ts';
import { type Frame, FrameStatus } from '../../../packets/frame.ts';
import { IP_PROTOCOL_TCP } from '../../../packets/ipv4.ts';
import type { GroupReports } from './group-reports.ts';
import type { Neighbours } from './neighbours.ts';
import type { TcpStack } from './tcp/stack.ts';

export class HostProtocols {
  readonly #neighbours: Neighbours | undefined;
  readonly #reports: GroupReports | undefined;
  readonly #tcp: TcpStack | undefined;

  constructor(neighbours: Neighbours | undefined, reports: GroupReports | undefined, tcp: TcpStack | undefined) {
    this.#neighbours = neighbours;
    this.#reports = reports;
    this.#tcp = tcp;
  }

  /** Takes a frame that `parseFrame` found to be not RoCE. */
  handleFrame(now: number, frame: Frame, status: FrameStatus): void {
    if (status === FrameStatus.NotUdp && frame.protocol === IP_PROTOCOL_TCP) {
      this.#tcp?.handleFrame(now, frame);
      return;
    }
    if (status === FrameStatus.NotIp || status === FrameStatus.NotUdp)
      this.#neighbours?.handleFrame(now, frame, status);
    // IGMP has an IP option, and listener discovery a header before its own.
    if (status === FrameStatus.NotUdp || status === FrameStatus.BadIpHeader)
      this.#reports?.handleFrame(now, frame, linkHeaderEnd(frame));
  }
}

/** Whether a host receives a frame: unicast to it, or multicast. */
export function isForMac(view: DataView, start: number, end: number, mac: MacAddress): boolean {
  if (end - start < 6) return true;
  if ((view.getUint8(start) & 1) !== 0) return true;
  for (let i = 0; i < 6; i++) if (view.getUint8(start + i) !== mac[i]) return false;
  return true;
}

/** Where the IP header of a frame with at most one VLAN tag starts. */
function linkHeaderEnd(frame: Frame): number {
  return frame.start + ETHERNET_BYTES + (frame.vlanTci >= 0 ? VLAN_TAG_BYTES : 0);
}
