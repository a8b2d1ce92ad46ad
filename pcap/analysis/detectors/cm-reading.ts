/**
 * Connection management messages in a capture, and the names that findings use for them.
 *
 * Owns the way from a packet's facts to a message, and the names of services. Keeps no state.
 */
import { type CmMessage, parseCmMad, RdmaPortSpace } from '../../../packets/cm/index.ts';
import { FrameStatus, frameDestination, frameSource } from '../../../packets/frame.ts';
import { GSI_QPN } from '../../../packets/mad.ts';
import { Op } from '../../../packets/opcode.ts';
import { IcrcState } from '../../dissection.ts';
import type { PacketFacts } from '../facts.ts';

/** A message with its source and destination. */
export interface CmSighting {
  readonly message: CmMessage;
  readonly source: string;
  readonly destination: string;
  readonly frame: number;
  readonly timeNs: number;
  readonly interfaceIndex: number;
}

/** The message that a packet is; undefined for every other packet. Cheap for those. */
export function cmSighting({ dissection, icrc, packet, timeNs }: PacketFacts): CmSighting | undefined {
  const { frame, status, cut } = dissection;
  if (status !== FrameStatus.Ok || frame.opcode !== Op.UdSendOnly || frame.destQpn !== GSI_QPN) return undefined;
  if (cut || icrc === IcrcState.Bad) return undefined;
  const mad = parseCmMad(frame.view, frame.payloadOffset, frame.payloadLength);
  if (typeof mad === 'number') return undefined;
  return {
    message: mad.message,
    source: frameSource(frame).toString(),
    destination: frameDestination(frame).toString(),
    frame: packet.number,
    timeNs,
    interfaceIndex: packet.interfaceIndex,
  };
}

/** "port 7471", or the service id where it is none of RDMA CM's (ref:wire#10). */
export function serviceName(serviceId: bigint): string {
  const space = serviceId & ~0xff_ffn;
  const port = Number(serviceId & 0xff_ffn);
  if (space === RdmaPortSpace.Tcp) return `port ${port}`;
  if (space === RdmaPortSpace.Udp) return `datagram port ${port}`;
  if (space === RdmaPortSpace.IpoIb) return `IPoIB port ${port}`;
  if (space === RdmaPortSpace.Ib) return `IB port ${port}`;
  return `service 0x${serviceId.toString(16).padStart(16, '0')}`;
}

/** A map that forgets its oldest entry when it is full. */
export function remember<K, V>(map: Map<K, V>, key: K, value: V, most: number): void {
  if (map.size >= most && !map.has(key)) {
    const { value: oldest } = map.keys().next();
    if (oldest !== undefined) map.delete(oldest);
  }
  map.set(key, value);
}
