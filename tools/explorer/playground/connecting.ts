/**
 * The applications above the connection managers of all hosts, as programs on rdma_cm are written: who listens, how a
 * request is answered, and when queue pairs move. The messages, their repetitions and TIMEWAIT are the stack's.
 *
 * What the connection manager has to say comes as an event in the middle of a step, and is dealt with at once: nothing
 * here waits for a promise, so that the playground can go step by step.
 */
import { CmRejReason, cmRejReasonName, type IpAddress, RdmaPortSpace, RoceError, rdmaServiceId } from 'rocev2/packets';
import { type CmEvent, type CmId, type CmInspection, codeToNs, QpState } from 'rocev2/transport';
import { bringToError, bringToInit, bringToRts, firstPsns } from './bring-up.ts';
import type { ConnectedEnd, PlaygroundHost } from './ends.ts';
import { microseconds, type NoteKind } from './notes.ts';
import { type Answer, DEFAULT_CM, type PlaygroundOperation, type PlaygroundScenario } from './scenario.ts';

/** What connecting needs of the hosts. */
export interface ConnectingHosts {
  host(index: number): PlaygroundHost;
  peerOf(end: ConnectedEnd): ConnectedEnd;
}

/** What one side of a connection knows of it. */
interface Attempt {
  /** The connection manager's name of it. */
  readonly id: CmId;
  /** The side that was asked: what to do about it. */
  readonly answer?: Answer;
  /** The side that was asked: the peer's queue pair, and where this one begins to send. */
  readonly asked?: { readonly destQpn: number; readonly sqPsn: number };
}

/** Connections under way and established. */
export class Connecting {
  readonly #scenario: PlaygroundScenario;
  readonly #hosts: ConnectingHosts;
  readonly #attempts = new Map<ConnectedEnd, Attempt>();
  readonly #answers = new Map<ConnectedEnd, Answer>();

  constructor(scenario: PlaygroundScenario, hosts: ConnectingHosts) {
    this.#scenario = scenario;
    this.#hosts = hosts;
  }

  /** A connection as the connection manager of this side has it; undefined: it knows of none. */
  inspectionOf(end: ConnectedEnd): CmInspection | undefined {
    const attempt = this.#attempts.get(end);
    return attempt === undefined ? undefined : this.#guestsOf(end).inspect(attempt.id);
  }

  /** Does what the application asks for, and says it. @throws RoceError for what the state does not allow */
  perform(own: ConnectedEnd, { kind, answer = 'accept', value = DEFAULT_PATIENCE }: PlaygroundOperation): string {
    switch (kind) {
      case 'connect':
        return this.#connect(own, answer);
      case 'accept':
        this.#accept(own);
        return 'accepts: its queue pair is ready, and a REP says so';
      case 'reject':
        this.#guestsOf(own).reject(this.#demand(own).id, CmRejReason.ConsumerDefined, NO_BYTES);
        return 'refuses the connection';
      case 'patience':
        this.#guestsOf(own).delay(this.#demand(own).id, value);
        return `asks for patience: its answer takes up to ${microseconds(codeToNs(value))} longer`;
      default:
        this.#guestsOf(own).disconnect(this.#demand(own).id);
        bringToError(own.qp);
        return 'ends the connection: nothing more is sent, and a DREQ says so';
    }
  }

  #connect(own: ConnectedEnd, answer: Answer): string {
    const { qp: spec, cm = DEFAULT_CM } = this.#scenario;
    const peer = this.#hosts.peerOf(own);
    if (answer !== 'nobody') this.#listen(peer, answer);
    if (own.qp.state === QpState.Error) own.qp.modifyNow({ state: QpState.Reset });
    if (own.qp.state !== QpState.Reset)
      throw new RoceError('ERR_ROCE_STATE', `the queue pair is in ${own.qp.stateName}`);
    bringToInit(own.qp);
    const reliable = spec.service === 'rc';
    const depth = reliable ? spec.maxRdAtomic : 0;
    const id = this.#guestsOf(own).connect(this.#guest(own), {
      ...{ serviceId: serviceOf(own), localPort: FIRST_LOCAL_PORT + own.connection },
      ...{ local: this.#addressOf(own), remote: this.#addressOf(peer), service: reliable ? 'rc' : 'uc' },
      ...{ qpn: own.qp.qpn, startingPsn: firstPsns(spec, own.side).rqPsn, mtu: Math.log2(spec.mtu) - MTU_CODE_BASE },
      ...{ initiatorDepth: depth, responderResources: depth, ackTimeout: spec.timeout },
      ...{ retryCount: reliable ? spec.retryCnt : 0, rnrRetryCount: reliable ? spec.rnrRetry : 0 },
      ...{ cmResponseTimeout: cm.responseTimeout, maxCmRetries: cm.retries },
    });
    this.#attempts.set(own, { id });
    return `asks for a connection to port ${portOf(own)}`;
  }

  /** Once for each side: a second `connect` changes the answer only. */
  #listen(end: ConnectedEnd, answer: Answer): void {
    if (!this.#answers.has(end)) this.#guestsOf(end).listen(this.#guest(end), serviceOf(end), BACKLOG);
    this.#answers.set(end, answer);
  }

  /** RESET, INIT, RTR, RTS, then the REP: the peer may send as soon as it has it. */
  #accept(own: ConnectedEnd): void {
    const { id, asked } = this.#demand(own);
    if (asked === undefined) throw new RoceError('ERR_ROCE_STATE', 'nobody has asked this side');
    const { qp: spec } = this.#scenario;
    const { rqPsn } = firstPsns(spec, own.side);
    if (own.qp.state === QpState.Error) own.qp.modifyNow({ state: QpState.Reset });
    if (own.qp.state === QpState.Reset) bringToInit(own.qp);
    const destination = this.#addressOf(this.#hosts.peerOf(own));
    bringToRts(own.qp, spec, { destination, destQpn: asked.destQpn, rqPsn }, asked.sqPsn);
    const depth = spec.service === 'rc' ? spec.maxRdAtomic : 0;
    this.#guestsOf(own).accept(id, {
      ...{ qpn: own.qp.qpn, startingPsn: rqPsn, initiatorDepth: depth, responderResources: depth },
      rnrRetryCount: spec.service === 'rc' ? spec.rnrRetry : 0,
    });
  }

  #guest(end: ConnectedEnd): { handle(event: CmEvent): void } {
    return { handle: (event) => this.#handle(end, event) };
  }

  #handle(end: ConnectedEnd, event: CmEvent): void {
    switch (event.type) {
      case 'connect-request':
        this.#asked(end, event);
        return;
      case 'connect-response':
        this.#answered(end, event);
        return;
      case 'established':
        if (event.cause !== 'ready') this.#note(end, 'connected', ESTABLISHED[event.cause]);
        return;
      case 'mra':
        this.#note(
          end,
          'patience',
          `is asked for patience: it waits ${microseconds(codeToNs(event.serviceTimeout))} more`,
        );
        return;
      case 'rejected':
        this.#over(end, 'rejected', `is refused: ${cmRejReasonName(event.reason)}`);
        return;
      case 'unreachable':
        this.#over(end, 'unreachable', `gives up: no ${event.waitingFor} has come`);
        return;
      case 'disconnected':
        this.#over(end, 'disconnected', DISCONNECTED[event.cause]);
        return;
      case 'timewait-exit':
        this.#note(end, 'timewait-over', 'leaves TIMEWAIT: its queue pair number may be used again');
        return;
      default:
        // Alternate paths and datagram services: nobody here asks for them.
        return;
    }
  }

  #asked(end: ConnectedEnd, { id, request }: Extract<CmEvent, { type: 'connect-request' }>): void {
    const answer = this.#answers.get(end) ?? 'later';
    const asked = { destQpn: request.localQpn, sqPsn: request.startingPsn };
    this.#attempts.set(end, { id, answer, asked });
    this.#guestsOf(end).assign(id, this.#guest(end));
    this.#note(end, 'asked', ASKED[answer]);
    if (answer === 'accept') this.#accept(end);
    if (answer === 'reject') this.#guestsOf(end).reject(id, CmRejReason.ConsumerDefined, NO_BYTES);
  }

  /** REP: the queue pair moves first, then the RTU leaves. */
  #answered(end: ConnectedEnd, { id, rep, remoteQpn }: Extract<CmEvent, { type: 'connect-response' }>): void {
    const { qp: spec } = this.#scenario;
    const destination = this.#addressOf(this.#hosts.peerOf(end));
    const { rqPsn } = firstPsns(spec, end.side);
    bringToRts(end.qp, spec, { destination, destQpn: remoteQpn, rqPsn }, rep.startingPsn);
    this.#guestsOf(end).ready(id);
    this.#note(end, 'connected', 'has the answer: its queue pair is ready, and an RTU says so');
  }

  #over(end: ConnectedEnd, kind: NoteKind, text: string): void {
    this.#note(end, kind, text);
    bringToError(end.qp);
  }

  #note({ host }: ConnectedEnd, kind: NoteKind, text: string): void {
    this.#hosts.host(host).notes.connection(kind, text);
  }

  #demand(end: ConnectedEnd): Attempt {
    const attempt = this.#attempts.get(end);
    if (attempt === undefined) throw new RoceError('ERR_ROCE_STATE', 'there is no connection');
    return attempt;
  }

  #guestsOf({ host }: ConnectedEnd) {
    return this.#hosts.host(host).device.cm.guests;
  }

  #addressOf({ host }: ConnectedEnd): IpAddress {
    return this.#hosts.host(host).address;
  }
}

/** Every connection of a scenario has a port of its own. */
function portOf({ connection }: ConnectedEnd): number {
  return FIRST_PORT + connection;
}

function serviceOf(end: ConnectedEnd): bigint {
  return rdmaServiceId(RdmaPortSpace.Tcp, portOf(end));
}

const ASKED: Readonly<Record<Answer, string>> = {
  accept: 'is asked for a connection, and accepts: its queue pair is ready, and a REP says so',
  reject: 'is asked for a connection, and refuses',
  later: 'is asked for a connection; the application has not answered yet',
  nobody: 'is asked for a connection',
};
const ESTABLISHED = {
  rtu: 'has the RTU: the connection is established',
  traffic: 'has no RTU, but data: the peer is ready, and the connection established',
} as const;
const DISCONNECTED: Readonly<Record<Extract<CmEvent, { type: 'disconnected' }>['cause'], string>> = {
  dreq: 'has the DREQ: it answers with a DREP, and both sides enter TIMEWAIT',
  drep: 'has the DREP: the connection is over, and TIMEWAIT begins',
  timeout: 'has no DREP in time: the connection is over all the same',
  stale: 'learns that the peer has forgotten the connection',
  rej: 'has a REJ: the connection is over',
};
const FIRST_PORT = 7_471;
const FIRST_LOCAL_PORT = 50_000;
const BACKLOG = 8;
/** The code of 256 bytes is 1. */
const MTU_CODE_BASE = 7;
/** 67 ms. */
const DEFAULT_PATIENCE = 14;
const NO_BYTES = new Uint8Array(0);
