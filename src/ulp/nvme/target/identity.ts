/** What a controller answers to Identify: itself, its namespaces, and lists. */
import {
  ASYNC_EVENT_CONFIGURATION,
  ControllerType,
  DISCOVERY_NQN,
  encodeNamespaceDescriptors,
  encodeNamespaceList,
  IDENTIFY_BYTES,
  IDENTIFY_CONTROLLER,
  IDENTIFY_CONTROLLER_NVM,
  IDENTIFY_NAMESPACE,
  IDENTIFY_NAMESPACE_INDEPENDENT,
  IdentifyCns,
  NamespaceIdType,
  NvmeStatus,
} from '../codec/index.ts';
import { type Controller, ERROR_ENTRIES, MAX_EVENT_REQUESTS, VERSION } from './controller.ts';
import { MDTS } from './data-pool.ts';
import { ALL_NAMESPACES } from './nvm.ts';
import { ANA_GROUP, MAX_NAMESPACES, type NvmeSubsystem, type TargetNamespace } from './subsystem.ts';

/** What the target tells of ways to it. */
export interface DiscoverySource {
  /** The discovery log page. */
  discoveryLog(controller: Controller): Uint8Array;
}

/** Data of Identify, 4096 bytes; or why there is none. */
export function identifyData(controller: Controller, nsid: number, cns: number): Uint8Array | number {
  const { subsystem } = controller;
  if (cns === IdentifyCns.Controller) return controllerData(controller);
  if (subsystem === undefined) return NvmeStatus.InvalidField;
  switch (cns) {
    case IdentifyCns.Namespace:
      return namespaceData(subsystem, nsid);
    case IdentifyCns.ActiveNamespaces:
    case IdentifyCns.ActiveNamespacesOfSet:
      if (nsid >= ALL_NAMESPACES - 1) return NvmeStatus.InvalidNamespace;
      return encodeNamespaceList(subsystem.namespaces.map((found) => found.nsid).filter((found) => found > nsid));
    case IdentifyCns.NamespaceDescriptors: {
      const namespace = subsystem.namespace(nsid);
      if (namespace === undefined) return NvmeStatus.InvalidNamespace;
      return encodeNamespaceDescriptors([
        { type: NamespaceIdType.Uuid, id: namespace.uuid },
        { type: NamespaceIdType.CommandSet, id: Uint8Array.of(0) },
      ]);
    }
    case IdentifyCns.NamespaceOfSet:
      return subsystem.namespace(nsid) === undefined ? NvmeStatus.InvalidNamespace : new Uint8Array(IDENTIFY_BYTES);
    case IdentifyCns.ControllerOfSet:
      return IDENTIFY_CONTROLLER_NVM.encode({ vsl: MDTS, wzsl: 0, dmrl: 0 });
    case IdentifyCns.NamespaceIndependent: {
      const namespace = subsystem.namespace(nsid);
      if (namespace === undefined) return NvmeStatus.InvalidNamespace;
      return IDENTIFY_NAMESPACE_INDEPENDENT.encode({
        nmic: 1,
        anagrpid: subsystem.ana ? ANA_GROUP : 0,
        nsattr: namespace.backend.readOnly ? 1 : 0,
        nstat: 1,
      });
    }
    default:
      return NvmeStatus.InvalidField;
  }
}

function controllerData(controller: Controller): Uint8Array {
  const { subsystem } = controller;
  const discovery = subsystem === undefined;
  const ana = subsystem?.ana === true;
  return IDENTIFY_CONTROLLER.encode({
    sn: subsystem?.serial ?? '0',
    mn: subsystem?.model ?? 'rocev2 discovery',
    fr: '1',
    cmic: (discovery ? 0 : SEVERAL_PORTS | SEVERAL_CONTROLLERS) | (ana ? ANA_REPORTING : 0),
    mdts: MDTS,
    cntlid: controller.id,
    ver: VERSION,
    oaes: ASYNC_EVENT_CONFIGURATION.toNumber({ namespaceAttribute: !discovery, anaChange: ana }),
    ctratt: HOST_ID_16 | TRAFFIC_KEEPS_ALIVE,
    cntrltype: discovery ? ControllerType.Discovery : ControllerType.Io,
    acl: 3,
    aerl: MAX_EVENT_REQUESTS - 1,
    frmw: ONE_READ_ONLY_SLOT,
    lpa: LONG_LOG_PAGES,
    elpe: ERROR_ENTRIES - 1,
    kas: KEEP_ALIVE_100MS,
    ...(ana ? { anatt: 10, anacap: ANA_STATES, anagrpmax: ANA_GROUP, nanagrpid: 1 } : {}),
    sqes: 0x66,
    cqes: 0x44,
    maxcmd: controller.maxEntries,
    nn: discovery ? 0 : MAX_NAMESPACES,
    mnan: discovery ? 0 : MAX_NAMESPACES,
    oncsCompare: true,
    oncsDsm: true,
    oncsWriteZeroes: true,
    oncsVerify: true,
    vwc: discovery ? 0 : CACHE_AND_FLUSH_ALL,
    sglsSupport: 1,
    sglsKeyed: true,
    sglsOffset: true,
    subnqn: subsystem?.nqn ?? DISCOVERY_NQN,
    ioccsz: (SQE_BYTES + controller.inCapsuleBytes) / 16,
    iorcsz: 1,
    icdoff: 0,
    msdbd: 1,
  });
}

function namespaceData(subsystem: NvmeSubsystem, nsid: number): Uint8Array | number {
  if (nsid === ALL_NAMESPACES)
    return IDENTIFY_NAMESPACE.encode({ nlbaf: 0, flbas: 0, lbaf: [{ lbads: 9 }], dlfeat: ZEROS_AND_DEALLOCATE });
  if (nsid === 0) return NvmeStatus.InvalidNamespace;
  const namespace = subsystem.namespace(nsid);
  // A namespace that is not active has zeros; one that can never be is refused.
  if (namespace === undefined)
    return nsid > MAX_NAMESPACES ? NvmeStatus.InvalidNamespace : new Uint8Array(IDENTIFY_BYTES);
  return activeNamespace(subsystem, namespace);
}

function activeNamespace(subsystem: NvmeSubsystem, { backend, blockBytes, uuid }: TargetNamespace): Uint8Array {
  const blocks = BigInt(Math.floor(backend.bytes / blockBytes));
  return IDENTIFY_NAMESPACE.encode({
    nsze: blocks,
    ncap: blocks,
    nuse: blocks,
    nlbaf: 0,
    flbas: 0,
    nmic: 1,
    dlfeat: ZEROS_AND_DEALLOCATE,
    nvmcap: blocks * BigInt(blockBytes),
    anagrpid: subsystem.ana ? ANA_GROUP : 0,
    nsattr: backend.readOnly ? 1 : 0,
    nguid: uuid,
    lbaf: [{ lbads: Math.log2(blockBytes) }],
  });
}

const SQE_BYTES = 64;
const SEVERAL_PORTS = 1;
const SEVERAL_CONTROLLERS = 2;
const ANA_REPORTING = 8;
const HOST_ID_16 = 1;
const TRAFFIC_KEEPS_ALIVE = 0x40;
const ONE_READ_ONLY_SLOT = 0x03;
const LONG_LOG_PAGES = 4;
const KEEP_ALIVE_100MS = 10;
/** Optimized, non-optimized, inaccessible, persistent loss, change. */
const ANA_STATES = 0x1f;
/** There is a cache, and a Flush may name all namespaces. */
const CACHE_AND_FLUSH_ALL = 0x07;
/** Deallocated blocks read as zeros, and Write Zeroes may deallocate. */
const ZEROS_AND_DEALLOCATE = 0x09;
