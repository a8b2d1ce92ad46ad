/**
 * REQs of the tester: what one says when a case does not say otherwise. Field values as Linux hosts send them
 * (test/vectors/cm-mads.ts): permissive LIDs, no alternate path, the IP CM header in front of the private data
 * (ref:wire#10).
 */

import type { Route } from 'rocev2/packets/kit';
import {
  type CmPath,
  type CmReq,
  CmTransport,
  IP_CM_HEADER_BYTES,
  LID_PERMISSIVE,
  NO_PATH,
  RdmaPortSpace,
  rdmaServiceId,
  writeIpCmHeader,
} from 'rocev2/packets/management';
import type { Prng } from 'rocev2/sim';

/** Where the numbers of a REQ come from. */
export interface NumberSource {
  readonly random: Prng;
  /** A free queue pair number of ours. */
  qpn(): number;
}

/** GUID of our adapter: constant, as that of an adapter. */
export const OUR_GUID = 0x0200_00ff_fe00_0099n;

/** Service id of a port of RDMA_PS_TCP. */
export const tcpService = (port: number): bigint => rdmaServiceId(RdmaPortSpace.Tcp, port);
export const udpService = (port: number): bigint => rdmaServiceId(RdmaPortSpace.Udp, port);

/** A REQ of ours for an RC connection with a free queue pair number; `more` replaces what it says. */
export function requestOf(
  t: NumberSource,
  route: Route,
  localCommId: number,
  port: number,
  more: Partial<CmReq> = {},
): CmReq {
  return {
    localCommId,
    vendorId: 0,
    serviceId: tcpService(port),
    localCaGuid: OUR_GUID,
    localQkey: 0,
    localQpn: t.qpn(),
    responderResources: 4,
    localEecn: 0,
    initiatorDepth: 4,
    remoteEecn: 0,
    remoteCmResponseTimeout: RESPONSE_TIMEOUT,
    transportServiceType: CmTransport.Rc,
    endToEndFlowControl: 0,
    startingPsn: t.random.below(0x1_00_00_00),
    localCmResponseTimeout: RESPONSE_TIMEOUT,
    retryCount: 7,
    partitionKey: 0xff_ff,
    pathMtu: 1,
    rdcExists: 0,
    rnrRetryCount: 7,
    maxCmRetries: 15,
    srq: 0,
    extendedTransportType: 0,
    primaryPath: pathOf(route),
    alternatePath: NO_PATH,
    sapSupported: 0,
    privateData: privateDataOf(route),
    ...more,
  };
}

/** A REQ for an unknown service. */
export function unknownServiceRequest(t: NumberSource, route: Route, localCommId: number): CmReq {
  return requestOf(t, route, localCommId, 0, { serviceId: UNKNOWN_SERVICES + BigInt(t.random.u32() >>> 0) });
}

/** The path of a route as its sender sees it. */
export function pathOf({ source, destination }: Route, more: Partial<CmPath> = {}): CmPath {
  return {
    localLid: LID_PERMISSIVE,
    remoteLid: LID_PERMISSIVE,
    localGid: source,
    remoteGid: destination,
    flowLabel: 0,
    packetRate: 0,
    trafficClass: 0,
    hopLimit: 64,
    serviceLevel: 0,
    subnetLocal: 0,
    localAckTimeout: ACK_TIMEOUT,
    ...more,
  };
}

/** The IP CM header, and what follows it. */
export function privateDataOf({ source, destination }: Route, behind: Uint8Array = new Uint8Array(0)): Uint8Array {
  const bytes = new Uint8Array(IP_CM_HEADER_BYTES + behind.length);
  writeIpCmHeader(new DataView(bytes.buffer), 0, { sourcePort: OUR_PORT, source, destination });
  bytes.set(behind, IP_CM_HEADER_BYTES);
  return bytes;
}

/** No service of RDMA CM begins so. */
const UNKNOWN_SERVICES = 0x5eed_0000_0000_0000n;
/** 4.3 s: what rdma_cm says. */
const RESPONSE_TIMEOUT = 20;
/** 67 ms: TIMEWAIT is as short. */
const ACK_TIMEOUT = 14;
const OUR_PORT = 50_000;
