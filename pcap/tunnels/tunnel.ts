/** The tunnels that are known: their names, and what is told of one around a packet. */
import { Medium } from '../../packets/frame.ts';

/** What carries a packet. */
export const Tunnel = {
  /** Nothing that is known. */
  None: 0,
  /** RFC 7348: an Ethernet frame. */
  Vxlan: 1,
  /** VXLAN with a protocol of its own choice. */
  VxlanGpe: 2,
  /** RFC 8926. */
  Geneve: 3,
  /** RFC 2784 and 2890; with a key also NVGRE. */
  Gre: 4,
  /** A mirrored frame behind GRE without a sequence number. */
  ErspanI: 5,
  /** The same with a header of 8 bytes. */
  ErspanII: 6,
  /** The same with a header of 12 or 20 bytes, time stamp included. */
  ErspanIII: 7,
  /** IPv4 or IPv6 in IPv4 or IPv6. */
  IpInIp: 8,
  /** RFC 3032, whatever carries it. */
  Mpls: 9,
  /** RFC 2516. */
  Pppoe: 10,
  /** More VLAN tags than two, or of an older EtherType. */
  Vlans: 11,
  /** Encrypted: what is inside cannot be read. */
  MacSec: 12,
  /** Encrypted as well, or at least it cannot be told that it is not. */
  Esp: 13,
} as const;
/** One of the tunnels. */
export type Tunnel = (typeof Tunnel)[keyof typeof Tunnel];

/** "VXLAN", "IP in IP"... for printers. */
export function tunnelName(tunnel: Tunnel): string {
  return NAMES[tunnel] ?? 'tunnel';
}

/** Whether what is inside cannot be read. */
export function isUnreadable(tunnel: Tunnel): boolean {
  return tunnel === Tunnel.MacSec || tunnel === Tunnel.Esp;
}

/** Whether its id is that of a virtual network, in which addresses are not those of others: a VNI, a GRE key. */
export function isVirtualNetwork(tunnel: Tunnel): boolean {
  return tunnel >= Tunnel.Vxlan && tunnel <= Tunnel.Gre;
}

/**
 * One layer: which tunnel it is, and where its packet lies. Made once and filled again.
 *
 * @example
 * ```ts
 * import { CaptureReader, Dissection, dissect, LinkType, PcapngWriter, TunnelLayer, tunnelsText } from 'rocev2/pcap';
 *
 * // Ethernet, the MPLS label 42 as the last of its stack, and the start of an IPv4 packet.
 * const bytes = new Uint8Array(60);
 * bytes.set([0x88, 0x47, 0, 2, 0xa1, 64, 0x45, 0, 0, 42], 12);
 * const file = new PcapngWriter({ application: 'example' });
 * const wire = file.addInterface({ name: 'wire', linkType: LinkType.Ethernet });
 * file.packet(wire, bytes, 0, bytes.length, 1, 500);
 * const reader = new CaptureReader();
 * reader.push(file.take());
 * const packet = reader.next();
 * const dissection = new Dissection();
 * if (packet !== undefined) dissect(packet, dissection);
 * const [layer = new TunnelLayer()] = dissection.tunnels;
 * console.log(tunnelsText([layer], dissection.depth), layer.end - layer.start); // MPLS 42 42
 * ```
 */
export class TunnelLayer {
  /** Which one. */
  tunnel: Tunnel = Tunnel.None;
  /** VNI, GRE key, ERSPAN session, MPLS label next to the packet, PPPoE session, VLAN id; -1: there is none. */
  id = -1;
  /** Where the outer packet begins, in the memory of the frame. */
  outerStart = 0;
  /** What the inner packet begins with. */
  medium: Medium = Medium.Ethernet;
  /** Where the inner packet begins, in the memory of the frame. */
  start = 0;
  /** Where it ends: the first byte behind it. */
  end = 0;
}

/** "VXLAN 42 > Geneve 9": the tunnels around a packet, outermost first. */
export function tunnelsText(layers: readonly TunnelLayer[], depth: number): string {
  return layers
    .slice(0, depth)
    .map(({ tunnel, id }) => (id < 0 ? tunnelName(tunnel) : `${tunnelName(tunnel)} ${id}`))
    .join(' > ');
}

/** "VXLAN 42": the virtual networks that a packet is in, outermost first; '' without one. */
export function virtualNetworkText(layers: readonly TunnelLayer[], depth: number): string {
  const networks = layers.slice(0, depth).filter(({ tunnel, id }) => isVirtualNetwork(tunnel) && id >= 0);
  return tunnelsText(networks, networks.length);
}

const NAMES: Readonly<Record<number, string>> = {
  [Tunnel.Vxlan]: 'VXLAN',
  [Tunnel.VxlanGpe]: 'VXLAN-GPE',
  [Tunnel.Geneve]: 'Geneve',
  [Tunnel.Gre]: 'GRE',
  [Tunnel.ErspanI]: 'ERSPAN I',
  [Tunnel.ErspanII]: 'ERSPAN II',
  [Tunnel.ErspanIII]: 'ERSPAN III',
  [Tunnel.IpInIp]: 'IP in IP',
  [Tunnel.Mpls]: 'MPLS',
  [Tunnel.Pppoe]: 'PPPoE',
  [Tunnel.Vlans]: 'VLANs',
  [Tunnel.MacSec]: 'MACsec',
  [Tunnel.Esp]: 'ESP',
};
