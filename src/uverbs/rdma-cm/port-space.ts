/**
 * Port spaces of rdma_cm: which services their ports are, and of which kind. Values are those of enum
 * rdma_ucm_port_space.
 */
import { RDMA_UDP_QKEY, RdmaPortSpace } from '../../../packets/cm/index.ts';
import { Errno, Refusal } from '../errno.ts';

export interface PortSpace {
  /** Service id of port 0. */
  readonly base: bigint;
  /** Nothing is connected: services are looked up, and groups joined. */
  readonly datagrams: boolean;
  /** Q_Key of its queue pairs. IPoIB's is that of a group of a subnet's manager, which RoCE does not have. */
  readonly qkey: number | undefined;
}

const SPACES: Readonly<Record<number, PortSpace>> = {
  2: { base: RdmaPortSpace.IpoIb, datagrams: true, qkey: undefined },
  262: { base: RdmaPortSpace.Tcp, datagrams: false, qkey: undefined },
  273: { base: RdmaPortSpace.Udp, datagrams: true, qkey: RDMA_UDP_QKEY },
};
/** RDMA_PS_IB: services by number, for addresses of family AF_IB. */
const PS_IB = 0x01_3f;

/** Refuses with EPROTONOSUPPORT a port space that we do not serve, with EINVAL what is none. */
export function portSpaceOf(number: number): PortSpace {
  const space = SPACES[number];
  if (space !== undefined) return space;
  throw new Refusal(number === PS_IB ? Errno.EPROTONOSUPPORT : Errno.EINVAL);
}
