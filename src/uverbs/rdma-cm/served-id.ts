/**
 * One id of rdma_cm: its addresses, its state, its connection, and the events of it that its file has not read. The
 * program moves the queue pair; this has what the messages of the connection manager need and bring. Rules:
 * linux:core/cma.c, linux:core/ucma.c; names of states are those of enum rdma_cm_state.
 */
import type { CmEvent, CmId } from '../../../transport/cm/index.ts';
import type { CmGuest } from '../../device/cm/guests.ts';
import { CONN_PARAM, EVENT_RESP } from '../abi/cm.ts';
import { type Fields, response } from '../fields.ts';
import type { SocketAddress } from './sockaddr.ts';

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
  TIMEWAIT_EXIT: 15,
} as const;

export type IdState =
  | 'idle'
  | 'bound'
  | 'addr-query'
  | 'addr-resolved'
  | 'route-resolved'
  | 'connect'
  | 'listen'
  | 'disconnect';

/** What was negotiated: for INIT_QP_ATTR. */
export interface Negotiated {
  remoteQpn: number;
  /** Where the peer begins to send: ours to choose. */
  rqPsn: number;
  /** Where we begin. */
  sqPsn: number;
  mtuCode: number;
  /** READs and atomics: outstanding, and answered. */
  initiatorDepth: number;
  responderResources: number;
  timeout: number;
  retryCount: number;
  rnrRetryCount: number;
  trafficClass: number;
}

/** An event that waits to be read. */
export interface WaitingEvent {
  readonly id: ServedId;
  readonly response: Fields;
  /** A request: the id it makes. */
  readonly child: ServedId | undefined;
}

/** Where an id's events go. */
export interface EventSink {
  push(event: WaitingEvent): void;
  /** A request has come for a listening id. */
  requested(listener: ServedId, event: Extract<CmEvent, { type: 'connect-request' }>): void;
}

export class ServedId implements CmGuest {
  /** What the program calls it. */
  uid: bigint;
  /** What commands call it. */
  readonly number: number;
  sink: EventSink;
  state: IdState = 'idle';
  source: SocketAddress | undefined = undefined;
  /** No other id may have the port of `source`. That of a request that came is its listener's. */
  hasPort = false;
  destination: SocketAddress | undefined = undefined;
  /** Of the connection manager, once there is a connection. */
  connection: CmId | undefined = undefined;
  readonly negotiated: Negotiated;
  /** Requests that may wait. */
  backlog = 0;
  reuse = false;
  eventsRead = 0;

  constructor(number: number, uid: bigint, sink: EventSink, startingPsn: number, mtuCode: number) {
    this.number = number;
    this.uid = uid;
    this.sink = sink;
    this.negotiated = {
      ...{ remoteQpn: 0, rqPsn: startingPsn, sqPsn: 0, mtuCode, initiatorDepth: 0, responderResources: 0 },
      ...{ timeout: 0, retryCount: 7, rnrRetryCount: 7, trafficClass: 0 },
    };
  }

  handle(event: CmEvent): void {
    const { negotiated } = this;
    switch (event.type) {
      case 'connect-request':
        this.sink.requested(this, event);
        return;
      case 'connect-response': {
        const { rep, remoteQpn } = event;
        negotiated.remoteQpn = remoteQpn;
        negotiated.sqPsn = rep.startingPsn;
        negotiated.initiatorDepth = event.initiatorDepth;
        negotiated.responderResources = event.responderResources;
        negotiated.rnrRetryCount = rep.rnrRetryCount;
        this.report(CmEventType.CONNECT_RESPONSE, 0, {
          qpNum: remoteQpn,
          privateData: event.privateData,
          // As the peer's wishes concern this side (rdma_get_cm_event(3)).
          responderResources: rep.initiatorDepth,
          initiatorDepth: rep.responderResources,
          flowControl: rep.endToEndFlowControl,
          rnrRetryCount: rep.rnrRetryCount,
          srq: rep.srq,
        });
        return;
      }
      case 'established':
        // On the active side the program knows: it has said so.
        if (event.cause !== 'ready') this.report(CmEventType.ESTABLISHED, 0, { privateData: event.privateData });
        return;
      case 'rejected':
        this.#over();
        this.report(CmEventType.REJECTED, event.reason, { privateData: event.privateData });
        return;
      case 'unreachable':
        this.#over();
        this.report(CmEventType.UNREACHABLE, -110);
        return;
      case 'disconnected':
        this.state = 'disconnect';
        this.report(CmEventType.DISCONNECTED, 0, { privateData: event.privateData });
        return;
      case 'timewait-exit':
        this.#over();
        this.report(CmEventType.TIMEWAIT_EXIT, 0);
        return;
      default:
    }
  }

  /** Queues an event. A connection whose program has not taken it has no name for its events: they are dropped. */
  report(type: number, status: number, parameters: EventParameters = {}, child?: ServedId): void {
    if (this.uid === 0n) return;
    this.sink.push({ id: this, response: eventOf(this, type, status, parameters), child });
  }

  #over(): void {
    this.connection = undefined;
    this.state = 'disconnect';
  }
}

/** What an event says of a connection. */
export interface EventParameters {
  readonly qpNum?: number;
  readonly privateData?: Uint8Array;
  readonly responderResources?: number;
  readonly initiatorDepth?: number;
  readonly flowControl?: number;
  readonly retryCount?: number;
  readonly rnrRetryCount?: number;
  readonly srq?: number;
}

function eventOf({ uid, number }: ServedId, type: number, status: number, parameters: EventParameters): Fields {
  const fields = response(EVENT_RESP);
  fields.put64(EVENT_RESP.at.uid, uid);
  fields.put32(EVENT_RESP.at.id, number);
  fields.put32(EVENT_RESP.at.event, type);
  fields.view.setInt32(EVENT_RESP.at.status, status, true);
  const at = CONN_PARAM.at;
  const conn = fields.within(EVENT_RESP.at.param, CONN_PARAM.size);
  const { privateData = NOTHING } = parameters;
  conn.put32(at.qp_num, parameters.qpNum ?? 0);
  conn.bytes.set(privateData.subarray(0, 255), at.private_data);
  conn.put8(at.private_data_len, Math.min(255, privateData.length));
  conn.put8(at.responder_resources, parameters.responderResources ?? 0);
  conn.put8(at.initiator_depth, parameters.initiatorDepth ?? 0);
  conn.put8(at.flow_control, parameters.flowControl ?? 0);
  conn.put8(at.retry_count, parameters.retryCount ?? 0);
  conn.put8(at.rnr_retry_count, parameters.rnrRetryCount ?? 0);
  conn.put8(at.srq, parameters.srq ?? 0);
  return fields;
}

const NOTHING = new Uint8Array(0);
