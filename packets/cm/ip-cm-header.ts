/**
 * The 36 bytes with which RDMA CM begins the private data of REQ and SIDR_REQ, and the service ids that go with them.
 *
 *    0 version: major (4), minor (4)     1 IP version (4), reserved (4)     2..3 source port
 *    4..19 source address               20..35 destination address
 *
 * An IPv4 address stands in the last 4 bytes of its field, the other 12 being 0 (not the ::ffff: of a GID).
 * The destination port is not here: it is the low 16 bits of the service id.
 *
 * Owns: these 36 bytes, and the service ids of the RDMA port spaces. Never: the rest of the private data.
 * Sources: ref:wire#10, rdma:cma.c#cma_hdr; golden bytes in test/vectors/cm-mads.ts.
 */
import { IpAddress } from '../address.ts';
import { RoceError } from '../errors.ts';

/** Size of the header in bytes. */
export const IP_CM_HEADER_BYTES = 36;
/** What REQ's private data leaves to an RDMA CM application. */
export const IP_CM_REQ_PRIVATE_DATA_BYTES = 92 - IP_CM_HEADER_BYTES;

/** What SIDR_REQ's private data leaves to an RDMA CM application. */
export const IP_CM_SIDR_REQ_PRIVATE_DATA_BYTES = 216 - IP_CM_HEADER_BYTES;

/**
 * RDMA CM port spaces, as service ids for port 0 (rdma:rdma_cma.h). Connections use Tcp (nearly every tool) or Ib
 * (rdma:rdma_xserver.c with XRC); datagram services Udp (udaddy, mckey, perftest over UD), IpoIb (udaddy -P ipoib) or
 * Ib.
 */
export const RdmaPortSpace = {
  /** RDMA_PS_IPOIB: datagrams, multicast with IPoIB's Q_Key. */
  IpoIb: 0x0002_0000n,
  /** RDMA_PS_TCP: connections; what nearly every tool uses. */
  Tcp: 0x0106_0000n,
  /** RDMA_PS_UDP: datagrams. */
  Udp: 0x0111_0000n,
  /** RDMA_PS_IB: any service of InfiniBand. */
  Ib: 0x013f_0000n,
} as const;

/**
 * Service id of a port, 0..65535, in one of `RdmaPortSpace`. Throws RoceError ERR_ROCE_ARGUMENT for what is no port.
 */
export function rdmaServiceId(portSpace: bigint, port: number): bigint {
  if (!Number.isInteger(port) || port < 0 || port > 0xff_ff) {
    throw new RoceError('ERR_ROCE_ARGUMENT', `a port is a whole number from 0 to 65535, not ${port}`);
  }
  return portSpace + BigInt(port);
}

/**
 * True for service ids that RDMA CM uses, whose requests begin with an IP CM header. RDMA_PS_IPOIB is not among them.
 */
export function isRdmaServiceId(serviceId: bigint): boolean {
  return serviceId >> 24n === 0x01n;
}

/**
 * Whether requests for a service id begin with an IP CM header: 'always', 'never', or 'if-there'. The last is
 * RDMA_PS_IB, whose requests have none when they come from a socket address of family AF_IB
 * (rdma:cma.c#cma_user_data_offset).
 */
export function ipCmHeaderRule(serviceId: bigint): 'always' | 'if-there' | 'never' {
  const space = serviceId & ~0xff_ffn;
  if (space === RdmaPortSpace.Ib) return 'if-there';
  return isRdmaServiceId(serviceId) || space === RdmaPortSpace.IpoIb ? 'always' : 'never';
}

/** The addresses that a request is about (ref:wire#10). */
export interface IpCmHeader {
  /** The asker's port, 16 bits. */
  readonly sourcePort: number;
  /** The asker's address. */
  readonly source: IpAddress;
  /** The destination address, of the same version. */
  readonly destination: IpAddress;
}

/**
 * Reads the header at `at`, where 36 bytes must be. `undefined` when it is none that we understand: the major version
 * must be 0, the IP version 4 or 6. Nothing is said about whether the addresses are those of the packet.
 */
export function readIpCmHeader(view: DataView, at: number): IpCmHeader | undefined {
  if (view.getUint8(at + VERSION_AT) >> 4 !== 0) return undefined;
  const version = view.getUint8(at + IP_VERSION_AT) >> 4;
  if (version !== 4 && version !== 6) return undefined;
  const skip = version === 4 ? IPV4_SKIP : 0;
  return {
    sourcePort: view.getUint16(at + SOURCE_PORT_AT),
    source: IpAddress.read(view, at + SOURCE_AT + skip, version),
    destination: IpAddress.read(view, at + DESTINATION_AT + skip, version),
  };
}

/** Writes all 36 bytes. Throws RoceError ERR_ROCE_ADDRESS when the two addresses are of different IP versions. */
export function writeIpCmHeader(view: DataView, at: number, header: IpCmHeader): void {
  if (header.source.version !== header.destination.version) {
    throw new RoceError('ERR_ROCE_ADDRESS', 'source and destination of an IP CM header differ in IP version');
  }
  for (let i = 0; i < IP_CM_HEADER_BYTES; i++) view.setUint8(at + i, 0);
  const skip = header.source.version === 4 ? IPV4_SKIP : 0;
  view.setUint8(at + IP_VERSION_AT, header.source.version << 4);
  view.setUint16(at + SOURCE_PORT_AT, header.sourcePort);
  header.source.write(view, at + SOURCE_AT + skip);
  header.destination.write(view, at + DESTINATION_AT + skip);
}

const VERSION_AT = 0;
const IP_VERSION_AT = 1;
const SOURCE_PORT_AT = 2;
const SOURCE_AT = 4;
const DESTINATION_AT = 20;
const IPV4_SKIP = 12;
