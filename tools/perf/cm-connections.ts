/**
 * -R: the queue pairs of a test connected by the connection manager, one connection each, on the port of the exchange.
 *
 * Owns those connections. Never the exchange itself. As perftest_communication.c#create_rdma_cm_connection: no private
 * data; READs and atomics are agreed on where the test has any; at the end the server disconnects and both sides wait
 * for it.
 */

import type { RdmaConnection, RdmaListener } from 'rocev2';
import { defined, RoceError } from 'rocev2/packets';
import { QpState } from 'rocev2/transport';
import { initialize } from './bring-up.ts';
import type { PerfSession } from './session.ts';

export class CmConnections {
  readonly #connections: readonly RdmaConnection[];
  readonly #isServer: boolean;

  constructor(connections: readonly RdmaConnection[], isServer: boolean) {
    this.#connections = connections;
    this.#isServer = isServer;
  }

  async end(): Promise<void> {
    await Promise.all(
      this.#connections.map((connection) => (this.#isServer ? connection.disconnect() : connection.closed)),
    );
  }
}

/** Listens, signals the client by `ready`, and takes one connection for each queue pair. */
export async function acceptByCm(session: PerfSession, ready: () => Promise<unknown>): Promise<CmConnections> {
  const { options, context } = session;
  for (const qp of session.qps) initialize(session, qp);
  const listener = context.device.cm.listen(options.port);
  const stop = (): void => listener.close();
  context.signal.addEventListener('abort', stop);
  try {
    await ready();
    const connections: RdmaConnection[] = [];
    for (const qp of session.qps) {
      const request = await nextRequest(listener);
      connections.push(await request.accept({ qp, ...tunables(session) }));
    }
    return new CmConnections(connections, true);
  } finally {
    context.signal.removeEventListener('abort', stop);
    listener.close();
  }
}

/** Connects each queue pair once the server is ready. */
export async function connectByCm(session: PerfSession, ready: () => Promise<unknown>): Promise<CmConnections> {
  const { options, qps } = session;
  for (const qp of qps) initialize(session, qp);
  await ready();
  const connections: RdmaConnection[] = [];
  for (const qp of qps) connections.push(await connect(session, qp, options.server));
  return new CmConnections(connections, false);
}

/** The stock server reports that it is ready a moment before it is. */
async function connect(
  session: PerfSession,
  qp: PerfSession['qps'][number],
  address: PerfSession['options']['server'],
): Promise<RdmaConnection> {
  const { context, options } = session;
  if (address === undefined) throw new RoceError('ERR_ROCE_STATE', 'a client has a server');
  for (let tries = 1; ; tries++) {
    try {
      return await context.device.cm.connect({ address, port: options.port, qp, ...tunables(session) });
    } catch (error) {
      const refused = error instanceof RoceError && error.code === 'ERR_ROCE_REJECTED';
      if (!refused || tries === MAX_TRIES) throw error;
      await context.sleep(RETRY_NS);
      // The refusal has taken it to ERROR.
      qp.modifyNow({ state: QpState.Reset });
      initialize(session, qp);
    }
  }
}

async function nextRequest(listener: RdmaListener) {
  const { value, done } = await listener.next();
  if (done === true) throw new RoceError('ERR_ROCE_CLOSED', 'no peer connected before the end');
  return value;
}

function tunables({ options }: PerfSession) {
  const { verb, outstandingReads, retryCount, ackTimeout, trafficClass } = options;
  const depth = verb === 'read' || verb === 'atomic' ? outstandingReads : 0;
  return {
    initiatorDepth: depth,
    responderResources: depth,
    retryCount,
    rnrRetryCount: 7,
    ackTimeout,
    ...defined({ trafficClass }),
  };
}

const MAX_TRIES = 10;
const RETRY_NS = 100e6;
