/**
 * The IP CM header at the start of private data: put before what the application says, taken off what the peer says.
 *
 * Owns: these two steps, for REQ and SIDR_REQ alike. Never: the bytes of the header (packets/cm/ip-cm-header.ts).
 * Rule: CM-23 (ref:conformance#CM); without a header where RDMA CM wants one the peer could not be found
 * (rdma:cma.c#cma_get_net_info).
 */
import {
  IP_CM_HEADER_BYTES,
  type IpCmHeader,
  ipCmHeaderRule,
  readIpCmHeader,
  writeIpCmHeader,
} from '../../packets/cm/index.ts';

/** `data` behind the header, in bytes of its own. */
export function behindIpCmHeader(header: IpCmHeader, data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(IP_CM_HEADER_BYTES + data.length);
  writeIpCmHeader(new DataView(bytes.buffer), 0, header);
  bytes.set(data, IP_CM_HEADER_BYTES);
  return bytes;
}

export interface SplitPrivateData {
  readonly ipHeader: IpCmHeader | undefined;
  readonly privateData: Uint8Array;
}

/** A peer's private data without its header; undefined when a header has to be there and is none. */
export function splitPrivateData(serviceId: bigint, data: Uint8Array): SplitPrivateData | undefined {
  const rule = ipCmHeaderRule(serviceId);
  if (rule === 'never') return { ipHeader: undefined, privateData: data };
  const ipHeader = readIpCmHeader(new DataView(data.buffer, data.byteOffset, data.byteLength), 0);
  if (ipHeader !== undefined) return { ipHeader, privateData: data.subarray(IP_CM_HEADER_BYTES) };
  return rule === 'always' ? undefined : { ipHeader: undefined, privateData: data };
}
