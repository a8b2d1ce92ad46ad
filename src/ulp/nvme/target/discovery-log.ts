/** The page of the discovery service: every way to every subsystem that a host may use. Owns what an entry says. */
import {
  AddressFamily,
  CNTLID_DYNAMIC,
  encodeDiscoveryLog,
  RDMA_CMS_RDMA_CM,
  RDMA_QPTYPE_CONNECTED,
  RdmaProvider,
  SubsystemType,
  TransportType,
} from '../codec/index.ts';
import type { Portal, TargetSettings } from './options.ts';

/** `here`: the way that the host has come by, which is the only one where the options name no others. */
export function discoveryLogFor(
  hostNqn: string,
  { subsystems, maxEntries, portals }: TargetSettings,
  here: readonly Portal[] = [],
): Uint8Array {
  const entries = subsystems
    .filter((subsystem) => subsystem.allows(hostNqn))
    .flatMap(({ nqn }) =>
      (portals ?? here).map(({ address, port, portId }) => ({
        trtype: TransportType.Rdma,
        adrfam: address.version === 6 ? AddressFamily.Ipv6 : AddressFamily.Ipv4,
        subtype: SubsystemType.Nvme,
        portid: portId,
        cntlid: CNTLID_DYNAMIC,
        asqsz: Math.min(32, maxEntries),
        trsvcid: `${port}`,
        traddr: address.toString(),
        subnqn: nqn,
        rdmaQptype: RDMA_QPTYPE_CONNECTED,
        rdmaPrtype: RdmaProvider.RoceV2,
        rdmaCms: RDMA_CMS_RDMA_CM,
      })),
    );
  return encodeDiscoveryLog(1n, entries);
}
