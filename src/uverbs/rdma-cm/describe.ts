/**
 * What an id says of itself: QUERY_ROUTE, QUERY, INIT_QP_ATTR. Rules: linux:core/ucma.c#ucma_query_route,
 * #ucma_query_addr, #ucma_query_path, #ucma_query_gid; linux:core/cm.c#cm_init_qp_init_attr, #cm_init_qp_rtr_attr,
 * #cm_init_qp_rts_attr.
 */
import type { IpAddress } from '../../../packets/address.ts';
import { QpState } from '../../../transport/qp-state.ts';
import { QUERY_ADDR_RESP, QUERY_PATH_RESP, QUERY_ROUTE_RESP, USER_PATH_REC } from '../abi/cm.ts';
import { QP_ATTR } from '../abi/queues.ts';
import { QpMask } from '../commands/modify.ts';
import type { DeviceFacts } from '../device-facts.ts';
import { Errno, Refusal } from '../errno.ts';
import { type Fields, response } from '../fields.ts';
import { HOP_LIMIT, routeAttributes } from './route.ts';
import type { ServedId } from './served-id.ts';
import { isAny, SOCKADDR_IN_BYTES, writeSockaddr } from './sockaddr.ts';

const QueryOption = { ADDR: 0, PATH: 1, GID: 2 } as const;
const AF_IB = 27;
const SOCKADDR_IB_BYTES = 48;
const SIB_ADDR_AT = 8;
const DEFAULT_PKEY = 0xff_ff;
const MIN_RNR_TIMER = 0;
const REMOTE_WRITE = 2;
const REMOTE_READ_ATOMIC = 4 | 8;

/** Whether the id is on the device: it has an address of its own, not any. */
function placed({ source }: ServedId): boolean {
  return source !== undefined && !isAny(source.address);
}

export function queryRoute(id: ServedId, facts: DeviceFacts): Fields {
  const at = QUERY_ROUTE_RESP.at;
  const reply = response(QUERY_ROUTE_RESP);
  putAddresses(reply, id, at.src_addr, at.dst_addr);
  if (!placed(id)) return reply;
  reply.view.setBigUint64(at.node_guid, facts.guid);
  reply.put8(at.port_num, 1);
  const { source, destination } = id;
  if (destination === undefined || source === undefined) return reply;
  reply.put32(at.num_paths, 1);
  const path = reply.within(at.ib_route, USER_PATH_REC.size);
  destination.address.writeGid(path.view, USER_PATH_REC.at.dgid);
  source.address.writeGid(path.view, USER_PATH_REC.at.sgid);
  path.view.setUint16(USER_PATH_REC.at.pkey, DEFAULT_PKEY);
  path.put32(USER_PATH_REC.at.mtu, id.negotiated.mtuCode);
  path.put32(USER_PATH_REC.at.reversible, 1);
  path.put8(USER_PATH_REC.at.hop_limit, HOP_LIMIT);
  path.put8(USER_PATH_REC.at.traffic_class, id.negotiated.trafficClass);
  return reply;
}

export function query(id: ServedId, option: number, facts: DeviceFacts): Fields {
  if (option === QueryOption.PATH) return response(QUERY_PATH_RESP);
  if (option !== QueryOption.ADDR && option !== QueryOption.GID) throw new Refusal(Errno.ENOSYS);
  const at = QUERY_ADDR_RESP.at;
  const reply = response(QUERY_ADDR_RESP);
  if (placed(id)) {
    reply.view.setBigUint64(at.node_guid, facts.guid);
    reply.put8(at.port_num, 1);
    reply.put16(at.pkey, DEFAULT_PKEY);
  }
  if (option === QueryOption.ADDR) {
    const [source, destination] = putAddresses(reply, id, at.src_addr, at.dst_addr);
    reply.put16(at.src_size, source);
    reply.put16(at.dst_size, destination);
    return reply;
  }
  putGid(reply, at.src_addr, id.source?.address);
  putGid(reply, at.dst_addr, id.destination?.address);
  reply.put16(at.src_size, SOCKADDR_IB_BYTES);
  reply.put16(at.dst_size, SOCKADDR_IB_BYTES);
  return reply;
}

function putAddresses(reply: Fields, { source, destination }: ServedId, sourceAt: number, destinationAt: number) {
  const first = source === undefined ? SOCKADDR_IN_BYTES : writeSockaddr(reply.view, sourceAt, source);
  const second = destination === undefined ? 0 : writeSockaddr(reply.view, destinationAt, destination);
  return [first, second] as const;
}

/** A struct sockaddr_ib with a GID. */
function putGid(reply: Fields, at: number, address: IpAddress | undefined): void {
  reply.put16(at, AF_IB);
  reply.view.setUint16(at + 2, DEFAULT_PKEY);
  address?.writeGid(reply.view, at + SIB_ADDR_AT);
}

/** The attributes with which the program moves its queue pair to `state`. */
export function initQpAttr(id: ServedId, state: number, { gids }: DeviceFacts): Fields {
  const at = QP_ATTR.at;
  const { negotiated } = id;
  const reply = response(QP_ATTR);
  reply.put32(at.qp_state, state);
  reply.put8(at.port_num, 1);
  if (id.space.datagrams) {
    // Whatever the state: there is nothing but the Q_Key to say (linux:core/cma.c#cma_ib_init_qp_attr).
    if (id.space.qkey === undefined) throw new Refusal(Errno.ENODEV);
    reply.put32(at.qkey, id.space.qkey);
    reply.put32(at.qp_attr_mask, QpMask.STATE | QpMask.PKEY_INDEX | QpMask.PORT | QpMask.QKEY);
    return reply;
  }
  reply.put32(at.path_mtu, negotiated.mtuCode);
  reply.put32(at.rq_psn, negotiated.rqPsn);
  reply.put32(at.sq_psn, negotiated.sqPsn);
  reply.put32(at.dest_qp_num, negotiated.remoteQpn);
  reply.put32(at.qp_access_flags, REMOTE_WRITE | (negotiated.responderResources > 0 ? REMOTE_READ_ATOMIC : 0));
  reply.put8(at.max_rd_atomic, negotiated.initiatorDepth);
  reply.put8(at.max_dest_rd_atomic, negotiated.responderResources);
  reply.put8(at.min_rnr_timer, MIN_RNR_TIMER);
  reply.put8(at.timeout, id.ackTimeout ?? negotiated.timeout);
  reply.put8(at.retry_cnt, negotiated.retryCount);
  reply.put8(at.rnr_retry, negotiated.rnrRetryCount);
  const { source, destination } = id;
  if (source !== undefined && destination !== undefined) {
    const ends = { source: source.address, destination: destination.address };
    reply.bytes.set(routeAttributes({ ...ends, trafficClass: negotiated.trafficClass }, gids).bytes, at.ah_attr);
  }
  const mask = MASKS[state];
  if (mask === undefined) throw new Refusal(Errno.EINVAL);
  reply.put32(at.qp_attr_mask, mask);
  return reply;
}

/** Of connections of type RC: those are what RDMA_PS_TCP has. */
const MASKS: Readonly<Record<number, number>> = {
  [QpState.Init]: QpMask.STATE | QpMask.ACCESS_FLAGS | QpMask.PKEY_INDEX | QpMask.PORT,
  [QpState.Rtr]:
    QpMask.STATE |
    QpMask.AV |
    QpMask.PATH_MTU |
    QpMask.DEST_QPN |
    QpMask.RQ_PSN |
    QpMask.MAX_DEST_RD_ATOMIC |
    QpMask.MIN_RNR_TIMER,
  [QpState.Rts]:
    QpMask.STATE | QpMask.SQ_PSN | QpMask.RETRY_CNT | QpMask.RNR_RETRY | QpMask.MAX_QP_RD_ATOMIC | QpMask.TIMEOUT,
};
