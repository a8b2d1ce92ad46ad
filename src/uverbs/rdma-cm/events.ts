/**
 * Events as a program reads them: struct rdma_ucm_event_resp, with the parameters of a connection or of a datagram
 * service. Rules: linux:core/ucma.c#ucma_copy_conn_event, #ucma_copy_ud_event.
 */
import { CONN_PARAM, EVENT_RESP, UD_PARAM } from '../abi/cm.ts';
import { type Fields, response } from '../fields.ts';

/** Values of enum rdma_cm_event_type. */
export const CmEventType = {
  ADDR_RESOLVED: 0,
  ADDR_ERROR: 1,
  ROUTE_RESOLVED: 2,
  CONNECT_REQUEST: 4,
  CONNECT_RESPONSE: 5,
  UNREACHABLE: 7,
  REJECTED: 8,
  ESTABLISHED: 9,
  DISCONNECTED: 10,
  MULTICAST_JOIN: 12,
  TIMEWAIT_EXIT: 15,
} as const;

/** What an event says of a connection. */
export interface ConnectionParameters {
  readonly qpNum?: number;
  readonly privateData?: Uint8Array;
  readonly responderResources?: number;
  readonly initiatorDepth?: number;
  readonly flowControl?: number;
  readonly retryCount?: number;
  readonly rnrRetryCount?: number;
  readonly srq?: number;
}

/** What an event says of a datagram service or a group. */
export interface DatagramParameters {
  readonly qpNum?: number;
  readonly qkey?: number;
  readonly privateData?: Uint8Array;
  /** A struct ib_uverbs_ah_attr. */
  readonly route?: Fields;
}

/** Whom an event is for. */
export interface EventName {
  readonly uid: bigint;
  readonly number: number;
}

export function connectionEvent(of: EventName, type: number, status: number, parameters: ConnectionParameters): Fields {
  const fields = namedEvent(of, type, status);
  const at = CONN_PARAM.at;
  const conn = fields.within(EVENT_RESP.at.param, CONN_PARAM.size);
  conn.put32(at.qp_num, parameters.qpNum ?? 0);
  putPrivateData(conn, at.private_data, at.private_data_len, parameters.privateData);
  conn.put8(at.responder_resources, parameters.responderResources ?? 0);
  conn.put8(at.initiator_depth, parameters.initiatorDepth ?? 0);
  conn.put8(at.flow_control, parameters.flowControl ?? 0);
  conn.put8(at.retry_count, parameters.retryCount ?? 0);
  conn.put8(at.rnr_retry_count, parameters.rnrRetryCount ?? 0);
  conn.put8(at.srq, parameters.srq ?? 0);
  return fields;
}

export function datagramEvent(of: EventName, type: number, status: number, parameters: DatagramParameters): Fields {
  const fields = namedEvent(of, type, status);
  const at = UD_PARAM.at;
  const ud = fields.within(EVENT_RESP.at.param, UD_PARAM.size);
  ud.put32(at.qp_num, parameters.qpNum ?? 0);
  ud.put32(at.qkey, parameters.qkey ?? 0);
  if (parameters.route !== undefined) ud.bytes.set(parameters.route.bytes, at.ah_attr);
  putPrivateData(ud, at.private_data, at.private_data_len, parameters.privateData);
  return fields;
}

function namedEvent({ uid, number }: EventName, type: number, status: number): Fields {
  const fields = response(EVENT_RESP);
  fields.put64(EVENT_RESP.at.uid, uid);
  fields.put32(EVENT_RESP.at.id, number);
  fields.put32(EVENT_RESP.at.event, type);
  fields.view.setInt32(EVENT_RESP.at.status, status, true);
  return fields;
}

function putPrivateData(fields: Fields, at: number, lengthAt: number, data: Uint8Array = NOTHING): void {
  fields.bytes.set(data.subarray(0, MOST_PRIVATE_DATA), at);
  fields.put8(lengthAt, Math.min(MOST_PRIVATE_DATA, data.length));
}

const MOST_PRIVATE_DATA = 255;
const NOTHING = new Uint8Array(0);
