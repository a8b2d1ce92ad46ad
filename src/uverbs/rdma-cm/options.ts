/**
 * SET_OPTION: what a program chooses for an id. Owns which options there are, when each may be set, and how long a
 * connection waits for an ACK. Rules: linux:core/ucma.c#ucma_set_option_id; linux:core/cma.c#rdma_set_service_type,
 * #rdma_set_reuseaddr, #rdma_set_afonly, #rdma_set_ack_timeout, #cma_resolve_iboe_route;
 * linux:core/cm.c#cm_ack_timeout.
 */
import { SET_OPTION } from '../abi/cm.ts';
import { Errno, Refusal } from '../errno.ts';
import { Fields } from '../fields.ts';
import type { ServedCmFile } from './files.ts';
import type { ServedId } from './served-id.ts';

const LEVEL_ID = 0;
const Option = { TOS: 0, REUSEADDR: 1, AFONLY: 2, ACK_TIMEOUT: 3 } as const;
/** How long a packet may be under way, a code: 4.096 us * 2^16 (CMA_IBOE_PACKET_LIFETIME). */
const PACKET_LIFETIME = 16;
/** Code of how late an ACK may leave; QUERY_DEVICE says the same. */
const CA_ACK_DELAY = 15;
const LONGEST_TIMEOUT = 31;

export function setOption(file: ServedCmFile, request: Fields): void {
  const at = SET_OPTION.at;
  const id = file.id(request.u32(at.id));
  if (request.u32(at.level) !== LEVEL_ID) throw new Refusal(Errno.ENOSYS);
  const value = (bytes: number): Fields => {
    if (request.u32(at.optlen) !== bytes) throw new Refusal(Errno.EINVAL);
    const into = new Uint8Array(bytes);
    if (!file.host.memory.read(Number(request.u64(at.optval)), into, 0, bytes)) throw new Refusal(Errno.EFAULT);
    return new Fields(into);
  };
  switch (request.u32(at.optname)) {
    case Option.TOS:
      id.tos = value(1).u8(0);
      return;
    case Option.REUSEADDR: {
      const reuse = value(4).u32(0) !== 0;
      if (id.state !== 'idle' && !(reuse && id.state !== 'listen')) throw new Refusal(Errno.EINVAL);
      id.reuse = reuse;
      return;
    }
    case Option.AFONLY:
      // A service is its port here, for either version of IP: whether one of them is meant changes nothing.
      value(4);
      if (id.state !== 'idle' && id.state !== 'bound') throw new Refusal(Errno.EINVAL);
      return;
    case Option.ACK_TIMEOUT:
      if (id.space.datagrams) throw new Refusal(Errno.EINVAL);
      id.ackTimeout = value(1).u8(0);
      return;
    default:
      throw new Refusal(Errno.ENOSYS);
  }
}

/** The ACK timeout that a REQ offers, a code: time for the packet and for the peer to answer. */
export function offeredAckTimeout({ ackTimeout }: ServedId): number {
  const flight = ((ackTimeout === undefined ? PACKET_LIFETIME : ackTimeout - 1) & 0xff) + 1;
  const both =
    flight >= CA_ACK_DELAY
      ? flight + (CA_ACK_DELAY >= flight - 1 ? 1 : 0)
      : CA_ACK_DELAY + (flight >= CA_ACK_DELAY - 1 ? 1 : 0);
  return Math.min(LONGEST_TIMEOUT, both);
}
