/**
 * Calls on the connection manager: listeners that accept, refuse or do not answer; connections that begin here;
 * and a list of what has happened, with the names of rdma_event_str(3). Owns the ends of connections: a queue pair with
 * receives and a region for the peer, which go with the connection. What comes in is never looked at.
 */

import { type CmService, type Connection, ConnectionRejected, type ConnectionRequest, type UdRequest } from 'rocev2';
import { RoceError } from 'rocev2/packets';
import { CM_REJ_PRIVATE_DATA_BYTES, CM_SIDR_REP_PRIVATE_DATA_BYTES, CmRejReason } from 'rocev2/packets/management';
import { type HostCalls, HostControlError, type HostHandle } from './host-control.ts';
import { type CmConnectionSetup, type CmEnd, checkMeans, makeEnd } from './in-process-ends.ts';
import { DONE, type Handlers, HandleTable, type Objects, present, refused } from './in-process-objects.ts';

type ConnectionCall = Extract<keyof Handlers, `cm.${string}`>;
type CmEvent = HostCalls['cm.events']['gives']['events'][number];
type Listen = Omit<HostCalls['cm.listen']['takes'], 'listener'>;
type Connect = Omit<HostCalls['cm.connect']['takes'], 'connection'>;

/** The calls on the connection manager. */
export function connectionCalls(objects: Objects): Pick<Handlers, ConnectionCall> {
  const connections = new Connections(objects);
  objects.endings.push(() => connections.endAll());
  return {
    'cm.listen': ({ listener, ...options }) => {
      connections.listen(listener, options);
      return DONE;
    },
    'cm.close': ({ listener }) => {
      connections.unlisten(listener);
      return DONE;
    },
    'cm.connect': async ({ connection, ...options }) => {
      await connections.connect(connection, options);
      return DONE;
    },
    'cm.disconnect': ({ connection, listener }) => {
      connections.disconnect(connection, listener);
      return DONE;
    },
    'cm.events': async () => {
      await turns();
      return { events: connections.takeEvents() };
    },
  };
}

/** One that takes requests. */
interface Listening {
  readonly close: () => void;
  /** Requests that had come before may be looked at after. */
  closed: boolean;
  /** The last that came about and has not ended. */
  newest: Connection | undefined;
  /** Requests that stay unanswered while it listens. */
  readonly unanswered: ConnectionRequest[];
}

/** One that was begun here. */
interface Begun {
  readonly end: CmEnd;
  /** Once it has come about. */
  made: Connection | undefined;
}

class Connections {
  readonly #objects: Objects;
  readonly #cm: CmService;
  readonly #listeners = new HandleTable<Listening>('listener');
  readonly #begun = new HandleTable<Begun>('connection');
  /** All that are not over, of either side. */
  readonly #ends = new Map<CmEnd, Connection | undefined>();
  #events: CmEvent[] = [];

  constructor(objects: Objects) {
    this.#objects = objects;
    this.#cm = objects.device.cm;
  }

  takeEvents(): CmEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  listen(handle: HostHandle, options: Listen): void {
    const refusal = options.reject === undefined ? undefined : bytesOf(options.reject);
    const most = options.udp === true ? CM_SIDR_REP_PRIVATE_DATA_BYTES : CM_REJ_PRIVATE_DATA_BYTES;
    if ((refusal?.length ?? 0) > most) throw refused('EINVAL', `a refusal has room for ${most} bytes`);
    checkMeans(options);
    this.#listeners.make(handle, () => {
      if (options.udp === true) return this.#offer(handle, options, refusal);
      const listener = this.#cm.listen(options.port, { services: ['rc'] });
      const made: Listening = { close: () => listener.close(), closed: false, newest: undefined, unanswered: [] };
      void this.#serve(listener, (request) => this.#take(handle, made, options, refusal, request));
      return made;
    });
  }

  unlisten(handle: HostHandle): void {
    this.#listeners.remove(handle, endListening);
  }

  /** What cannot be is refused; what is on its way, `cm.events` tells of. */
  async connect(handle: HostHandle, options: Connect): Promise<void> {
    const { address, port, privateData, responderResources, initiatorDepth, retryCount, rnrRetryCount } = options;
    const chosen = present({ responderResources, initiatorDepth, retryCount, rnrRetryCount });
    const bytes = privateData === undefined ? {} : { privateData: bytesOf(privateData) };
    const begun = this.#begun.make(handle, () => ({ end: this.#makeEnd('rc', {}), made: undefined }));
    const { end } = begun;
    const attempt = this.#cm.connect({ address, port, qp: end.qp, ...chosen, ...bytes });
    const refusal = await Promise.race([attempt.then(nothing, refusalOf), turns()]);
    if (refusal !== undefined) {
      this.#begun.remove(handle, () => this.#drop(end));
      throw refusal;
    }
    void this.#follow(end, { connection: handle }, attempt, (connection) => {
      begun.made = connection;
    });
  }

  disconnect(connection: HostHandle | undefined, listener: HostHandle | undefined): void {
    const made = connection === undefined ? undefined : this.#begun.get(connection).made;
    const taken = listener === undefined ? undefined : this.#listeners.get(listener).newest;
    const ending = made ?? taken;
    if (ending === undefined) throw refused('ENOTCONN', 'there is no connection that could be ended');
    void ending.disconnect();
  }

  /** Sends the peers DREQ or REJ, and does not wait for replies. */
  endAll(): void {
    this.#listeners.clear(endListening);
    this.#begun.clear(() => {});
    for (const [end, connection] of this.#ends) {
      void connection?.disconnect();
      this.#drop(end);
    }
    this.#events = [];
  }

  /** A datagram service: every request gets the same queue pair. */
  #offer(handle: HostHandle, options: Listen, refusal: Uint8Array | undefined): Listening {
    const listener = this.#cm.listenUd(options.port);
    const answers = refusal === undefined && options.mute !== true;
    const end = answers ? this.#makeEnd('ud', options) : undefined;
    void this.#serve(listener, async (request: UdRequest) => {
      // It may have come before the end of the service and be looked at after.
      if (offer.closed) return request.reject();
      this.#tell('connect-request', 0, { listener: handle }, { privateData: request.privateData });
      if (refusal !== undefined) request.reject(undefined, refusal);
      if (end !== undefined) request.accept({ qp: end.qp, privateData: end.invitation });
    });
    const close = (): void => {
      listener.close();
      if (end !== undefined) this.#drop(end);
    };
    const offer: Listening = { close, closed: false, newest: undefined, unanswered: [] };
    return offer;
  }

  /** Takes every request that comes; what becomes of one holds up no other. */
  async #serve<Request>(listener: AsyncIterable<Request>, take: (request: Request) => Promise<void>): Promise<void> {
    for await (const request of listener) void take(request).catch(passOver);
  }

  async #take(
    handle: HostHandle,
    listening: Listening,
    options: Listen,
    refusal: Uint8Array | undefined,
    request: ConnectionRequest,
  ): Promise<void> {
    const of = { listener: handle };
    if (listening.closed) return request.reject();
    this.#tell('connect-request', 0, of, { privateData: request.privateData });
    if (options.mute === true) {
      listening.unanswered.push(request);
      return;
    }
    if (refusal !== undefined) {
      request.reject(refusal);
      return;
    }
    const end = this.#endFor(request, options);
    const attempt = request.accept({ qp: end.qp, privateData: end.invitation });
    await this.#follow(end, of, attempt, (connection) => {
      listening.newest = connection;
      void connection.closed.then(() => {
        if (listening.newest === connection) listening.newest = undefined;
      });
    });
  }

  /** From an attempt to the end of what comes of it. What was dropped in the meantime makes no event. */
  async #follow(
    end: CmEnd,
    of: Pick<CmEvent, 'listener' | 'connection'>,
    attempt: Promise<Connection>,
    made: (connection: Connection) => void,
  ): Promise<void> {
    try {
      const connection = await attempt;
      const { qpn } = end.qp;
      if (this.#ends.has(end)) {
        this.#ends.set(end, connection);
        made(connection);
        this.#tell('established', 0, of, { privateData: connection.privateData, qpn });
      } else void connection.disconnect();
      await connection.closed;
      if (this.#ends.has(end)) this.#tell('disconnected', 0, of, { qpn });
    } catch (error) {
      if (this.#ends.has(end)) this.#tellFailure(of, error);
    }
    this.#drop(end);
  }

  /** A request that there is no room for is refused. */
  #endFor(request: ConnectionRequest, means: CmConnectionSetup): CmEnd {
    try {
      return this.#makeEnd('rc', means);
    } catch (error) {
      request.reject(undefined, CmRejReason.NoResources);
      throw error;
    }
  }

  #makeEnd(type: 'rc' | 'ud', means: CmConnectionSetup): CmEnd {
    const end = makeEnd(this.#objects.device, type, means);
    this.#ends.set(end, undefined);
    return end;
  }

  #drop(end: CmEnd): void {
    if (this.#ends.delete(end)) end.destroy();
  }

  #tellFailure(of: Pick<CmEvent, 'listener' | 'connection'>, error: unknown): void {
    if (error instanceof ConnectionRejected) {
      this.#tell('rejected', error.reason, of, { privateData: error.privateData });
      return;
    }
    const code = error instanceof RoceError ? error.code : undefined;
    if (code === 'ERR_ROCE_TIMEOUT') this.#tell('unreachable', -ETIMEDOUT, of);
    else if (code === 'ERR_ROCE_ADDRESS') this.#tell('addr-error', -EHOSTUNREACH, of);
    else this.#tell('connect-error', -EIO, of);
  }

  #tell(
    event: string,
    status: number,
    of: Pick<CmEvent, 'listener' | 'connection'>,
    more: { readonly privateData?: Uint8Array; readonly qpn?: number } = {},
  ): void {
    const { privateData, qpn } = more;
    const hex = privateData === undefined ? undefined : Buffer.from(privateData).toString('hex');
    this.#events.push({ event, status, ...of, ...present({ qpn, privateData: hex }) });
  }
}

/** As with rdma_destroy_id(3): waiting requests are refused. */
function endListening(listening: Listening): void {
  listening.closed = true;
  listening.close();
  for (const request of listening.unanswered) {
    try {
      request.reject();
    } catch (error) {
      passOver(error);
    }
  }
}

function bytesOf(hex: string): Uint8Array {
  if (!/^(?:[0-9a-f]{2})*$/i.test(hex)) throw refused('EINVAL', 'bytes are pairs of hexadecimal digits');
  return Uint8Array.from(Buffer.from(hex, 'hex'));
}

/** A request that cannot be taken, or was taken back: for the peer to find out. */
function passOver(error: unknown): void {
  if (!(error instanceof RoceError || error instanceof HostControlError)) throw error;
}

/** What is wrong with the call itself, before anything was sent. */
function refusalOf(error: unknown): RoceError | undefined {
  const atFault = error instanceof RoceError && AT_ONCE.includes(error.code);
  return atFault ? error : undefined;
}

/** Long enough for what is decided without the wire. */
async function turns(): Promise<undefined> {
  for (let turn = 0; turn < TURNS; turn++) await null;
  return undefined;
}

const nothing = (): undefined => undefined;

const AT_ONCE = ['ERR_ROCE_ARGUMENT', 'ERR_ROCE_STATE', 'ERR_ROCE_LIMIT', 'ERR_ROCE_CLOSED'];
const TURNS = 16;
const EIO = 5;
const ETIMEDOUT = 110;
const EHOSTUNREACH = 113;
