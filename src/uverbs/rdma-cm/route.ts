/** The way to a destination as rdma_cm tells it: a struct ib_uverbs_ah_attr. */
import type { IpAddress } from '../../../packets/address.ts';
import { AH_ATTR, GLOBAL_ROUTE } from '../abi/queues.ts';
import { type Fields, response } from '../fields.ts';

export interface CmRoute {
  readonly source: IpAddress;
  readonly destination: IpAddress;
  readonly trafficClass: number;
}

export const HOP_LIMIT = 64;

/** `gids` are those of the device, of which the source is one. */
export function routeAttributes({ source, destination, trafficClass }: CmRoute, gids: readonly IpAddress[]): Fields {
  const attr = response(AH_ATTR);
  destination.writeGid(attr.view, GLOBAL_ROUTE.at.dgid);
  const index = gids.findIndex((gid) => gid.equals(source));
  attr.put8(GLOBAL_ROUTE.at.sgid_index, Math.max(0, index));
  attr.put8(GLOBAL_ROUTE.at.hop_limit, HOP_LIMIT);
  attr.put8(GLOBAL_ROUTE.at.traffic_class, trafficClass);
  attr.put8(AH_ATTR.at.is_global, 1);
  attr.put8(AH_ATTR.at.port_num, 1);
  return attr;
}
