/** The path to a peer as an application gives it (ibv_ah_attr): addresses and optional header fields. */

import type { IpAddress } from '../../../packets/address.ts';
import { ipv4ChecksumMatches } from '../../../packets/checksum.ts';
import { GRH_BYTES, GRH_IPV4_AT, readGrh } from '../../../packets/grh.ts';
import { IPV4_VERSION_IHL, readIpv4 } from '../../../packets/ipv4.ts';
import { dscpOf, Ecn, isMarked, trafficClassOf } from '../../../packets/traffic-class.ts';
import type { PathTraits } from '../options.ts';

/** The path to a peer. Absent fields take the device's defaults. */
export interface AddressVector extends PathTraits {
  /** The peer's address, or a group's. */
  readonly destination: IpAddress;
  /** One of the device's addresses; default the one on the destination's subnet. */
  readonly source?: IpAddress;
}

/**
 * The address vector of a datagram's sender, from its first 40 bytes; undefined when they hold no header.
 * As rdma:verbs.c#ibv_init_ah_from_wc: an IPv4 header is recognised by its version and checksum; traffic class and hop
 * limit are those of the received datagram, without a congestion mark.
 */
export function addressVectorOfGrh(grh: Uint8Array): (AddressVector & { readonly source: IpAddress }) | undefined {
  if (grh.length < GRH_BYTES) return undefined;
  const view = new DataView(grh.buffer, grh.byteOffset, GRH_BYTES);
  if (view.getUint8(0) >>> 4 === 6) {
    const { sourceGid, destinationGid, trafficClass, hopLimit, flowLabel } = readGrh(view, 0);
    const traits = { trafficClass: unmarked(trafficClass), hopLimit: Math.max(1, hopLimit), flowLabel };
    return { destination: sourceGid, source: destinationGid, ...traits };
  }
  const header = readIpv4(view, GRH_IPV4_AT);
  if (view.getUint8(GRH_IPV4_AT) !== IPV4_VERSION_IHL) return undefined;
  if (!ipv4ChecksumMatches(view, GRH_IPV4_AT)) return undefined;
  const { source, destination, trafficClass, ttl } = header;
  return { destination: source, source: destination, trafficClass: unmarked(trafficClass), hopLimit: Math.max(1, ttl) };
}

/** The traffic class without a congestion mark: CE becomes ECT(0), since only ECN-capable packets are marked. */
function unmarked(trafficClass: number): number {
  return isMarked(trafficClass) ? trafficClassOf(dscpOf(trafficClass), Ecn.Ect0) : trafficClass;
}
