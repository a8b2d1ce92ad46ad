/**
 * One id of rdma_cm: its addresses, its state, its connection, and the events of it that its file has not read. The
 * program moves the queue pair; this has what the messages of the connection manager need and bring. Rules:
 * linux:core/cma.c, linux:core/ucma.c; names of states are those of enum rdma_cm_state.
 */

import { PSN_MASK } from '../../../packets/psn.ts';
import type { CmEvent, CmId } from '../../../transport/cm/index.ts';
import type { CmGuest } from '../../device/cm/guests.ts';
import type { DeviceFacts } from '../device-facts.ts';
import type { Fields } from '../fields.ts';
import {
  CmEventType,
  type ConnectionParameters,
  connectionEvent,
  type DatagramParameters,
  datagramEvent,
} from './events.ts';
import type { PortSpace } from './port-space.ts';
import { routeAttributes } from './route.ts';
import type { SocketAddress } from './sockaddr.ts';

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
  /** Of a group that its id has joined. */
  readonly group?: Group;
}

/** A group that an id has joined. */
export interface Group {
  readonly id: ServedId;
  /** What commands call it, and what the program does. */
  readonly number: number;
  readonly uid: bigint;
  eventsRead: number;
}

/** Where an id's events go. */
export interface EventSink {
  push(event: WaitingEvent): void;
  /** A request has come for a listening id. */
  requested(listener: ServedId, event: Extract<CmEvent, { type: 'connect-request' }>): void;
  /** Somebody looks for the datagram service of a listening id. */
  lookedUp(listener: ServedId, event: Extract<CmEvent, { type: 'resolve-request' }>): void;
}

export class ServedId implements CmGuest {
  /** What the program calls it. */
  uid: bigint;
  /** What commands call it. */
  readonly number: number;
  readonly space: PortSpace;
  readonly facts: DeviceFacts;
  sink: EventSink;
  state: IdState = 'idle';
  source: SocketAddress | undefined = undefined;
  /** No other id may have the port of `source`. That of a request that came is its listener's. */
  hasPort = false;
  destination: SocketAddress | undefined = undefined;
  /** Of the connection manager, while there is a connection or a lookup. */
  connection: CmId | undefined = undefined;
  readonly negotiated: Negotiated;
  /** Requests that may wait. */
  backlog = 0;
  reuse = false;
  /** DSCP and ECN of its path, and the ACK timeout of its queue pair, a code; where the program has chosen them. */
  tos: number | undefined = undefined;
  ackTimeout: number | undefined = undefined;
  eventsRead = 0;

  constructor(number: number, uid: bigint, sink: EventSink, space: PortSpace, facts: DeviceFacts) {
    this.number = number;
    this.uid = uid;
    this.sink = sink;
    this.space = space;
    this.facts = facts;
    const rqPsn = facts.device.random.u32() & PSN_MASK;
    this.negotiated = {
      ...{ remoteQpn: 0, rqPsn, sqPsn: 0, mtuCode: facts.mtuCode, initiatorDepth: 0, responderResources: 0 },
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
        this.report(CmEventType.UNREACHABLE, -ETIMEDOUT);
        return;
      case 'disconnected':
        this.state = 'disconnect';
        this.report(CmEventType.DISCONNECTED, 0, { privateData: event.privateData });
        return;
      case 'timewait-exit':
        this.#over();
        this.report(CmEventType.TIMEWAIT_EXIT, 0);
        return;
      case 'resolve-request':
        this.sink.lookedUp(this, event);
        return;
      case 'resolve-request-expired':
        this.#over();
        return;
      case 'resolved':
        this.#found(event);
        return;
      case 'unresolved':
        this.#over();
        this.report(CmEventType.UNREACHABLE, -ETIMEDOUT);
        return;
      default:
    }
  }

  /** The answer of a datagram service. A status that is none of success is told as it came. */
  #found({ status, qpn, qkey, privateData }: Extract<CmEvent, { type: 'resolved' }>): void {
    const { source, destination, negotiated } = this;
    this.#over();
    if (status !== 0 || source === undefined || destination === undefined) {
      this.report(CmEventType.UNREACHABLE, status);
      return;
    }
    const ends = { source: source.address, destination: destination.address };
    const route = routeAttributes({ ...ends, trafficClass: negotiated.trafficClass }, this.facts.gids);
    this.report(CmEventType.ESTABLISHED, 0, { qpNum: qpn, qkey, privateData, route });
  }

  /** Queues an event. A connection whose program has not taken it has no name for its events: they are dropped. */
  report(
    type: number,
    status: number,
    parameters: ConnectionParameters & DatagramParameters = {},
    child?: ServedId,
  ): void {
    if (this.uid === 0n) return;
    const event = this.space.datagrams ? datagramEvent : connectionEvent;
    this.sink.push({ id: this, response: event(this, type, status, parameters), child });
  }

  #over(): void {
    this.connection = undefined;
    this.state = 'disconnect';
  }
}

const ETIMEDOUT = 110;
