/** Frames of what is not RoCE, as an attacker sends it: IP packets of any protocol, ARP, neighbour discovery. */
import type { IpAddress, MacAddress } from 'rocev2/packets';
import {
  ETHERNET_BYTES,
  ETHERTYPE_ARP,
  ETHERTYPE_IPV4,
  ETHERTYPE_IPV6,
  finishChecksum,
  ipv4HeaderChecksum,
  onesComplementSum,
  pseudoHeaderSum,
  writeArp,
  writeEthernet,
  writeIpv4,
  writeIpv6,
} from 'rocev2/packets/network';

/** Where a frame claims to be from and goes to; addresses of one IP version. */
export interface Claim {
  readonly sourceMac: MacAddress;
  readonly destMac: MacAddress;
  readonly source: IpAddress;
  readonly destination: IpAddress;
}

/**
 * An IP packet. `checksumAt` says where in `body` the checksum over pseudo-header and body goes (over the body alone
 * for IGMP); negative: there is none.
 */
export function ipFrame(claim: Claim, protocol: number, body: Uint8Array, checksumAt: number, ttl = 255): Uint8Array {
  const version = claim.destination.version;
  const ipBytes = version === 4 ? 20 : 40;
  const bytes = new Uint8Array(ETHERNET_BYTES + ipBytes + body.length);
  const view = new DataView(bytes.buffer);
  writeEthernet(view, 0, claim.destMac, claim.sourceMac, version === 4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6);
  const { source, destination } = claim;
  if (version === 4) {
    writeIpv4(view, ETHERNET_BYTES, {
      ...{ version: 4, ihl: 5, trafficClass: 0, totalLength: 20 + body.length, identification: 0, flags: 0 },
      ...{ fragmentOffset: 0, ttl, protocol, checksum: 0, source, destination },
    });
    view.setUint16(ETHERNET_BYTES + 10, ipv4HeaderChecksum(view, ETHERNET_BYTES));
  } else {
    writeIpv6(view, ETHERNET_BYTES, {
      ...{ version: 6, trafficClass: 0, flowLabel: 0, payloadLength: body.length, nextHeader: protocol },
      ...{ hopLimit: ttl, source, destination },
    });
  }
  const at = ETHERNET_BYTES + ipBytes;
  bytes.set(body, at);
  if (checksumAt < 0) return bytes;
  const before = protocol === IGMP ? 0 : pseudoHeaderSum(view, ETHERNET_BYTES, version, protocol, body.length);
  view.setUint16(at + checksumAt, finishChecksum(onesComplementSum(view, at, bytes.length, before)));
  return bytes;
}

/** "`claim.source` has `claim.sourceMac`": an ARP request or reply, or a neighbour advertisement. */
export function neighbourClaim(claim: Claim, reply: boolean): Uint8Array {
  const { source, destination, sourceMac, destMac } = claim;
  if (source.version === 4) {
    const bytes = new Uint8Array(60);
    const view = new DataView(bytes.buffer);
    writeEthernet(view, 0, destMac, sourceMac, ETHERTYPE_ARP);
    const target = reply ? destMac : new Uint8Array(6);
    writeArp(view, ETHERNET_BYTES, {
      ...{ operation: reply ? 2 : 1, senderMac: sourceMac, senderIp: source },
      ...{ targetMac: target, targetIp: destination },
    });
    return bytes;
  }
  const body = new Uint8Array(32);
  body[0] = reply ? 136 : 135;
  body[4] = reply ? 0x60 : 0;
  (reply ? source : destination).writeGid(new DataView(body.buffer), 8);
  body.set([reply ? 2 : 1, 1, ...sourceMac], 24);
  return ipFrame(claim, 58, body, 2);
}

/** A TCP segment without data or options. */
export function tcpFrame(claim: Claim, ports: readonly [number, number], seq: number, flags: number): Uint8Array {
  const body = new Uint8Array(20);
  const view = new DataView(body.buffer);
  view.setUint16(0, ports[0]);
  view.setUint16(2, ports[1]);
  view.setUint32(4, seq);
  body[12] = 0x50;
  body[13] = flags;
  view.setUint16(14, 0xff_ff);
  return ipFrame(claim, 6, body, 16, 64);
}

/** A general query of IGMP version 2 or MLD version 1, as from a router. */
export function groupQuery(claim: Claim): Uint8Array {
  if (claim.destination.version === 4) return ipFrame(claim, IGMP, Uint8Array.of(0x11, 1, 0, 0, 0, 0, 0, 0), 2, 1);
  const body = new Uint8Array(24);
  body[0] = 130;
  return ipFrame(claim, 58, body, 2, 1);
}

const IGMP = 2;
