/**
 * -R with UD: queue pairs found by the connection manager (RDMA_PS_UDP, SIDR), one request each, on the port of the
 * exchange.
 *
 * Owns those requests and the datagram that tells the server which queue pair sent one. The client learns where to send
 * from the answer; a server that has to answer (latency, both directions) learns it from a SEND with immediate data:
 * the client's queue pair number. Sources: perftest_communication.c#rdma_cm_send_ud_connection_parameters,
 * #rdma_cm_initialize_ud_connection_parameters.
 */

import type { RdmaQp, RdmaUdListener } from 'rocev2';
import { GRH_BYTES, type IpAddress, RoceError } from 'rocev2/packets';
import { RDMA_UDP_QKEY } from 'rocev2/packets/management';
import { WrOpcode } from 'rocev2/transport';
import { initialize, readyForDatagrams } from './bring-up.ts';
import type { PerfSession } from './session.ts';

/** Listens, signals the client by `ready`, and answers one request for each queue pair. */
export async function acceptDatagramsByCm(session: PerfSession, ready: () => Promise<unknown>): Promise<void> {
  const { options, context, qps, local } = session;
  for (const [i, qp] of qps.entries()) bringUp(session, qp, local[i]?.psn ?? 0);
  const listener = context.device.cm.listenUd(options.port);
  const stop = (): void => listener.close();
  context.signal.addEventListener('abort', stop);
  try {
    await ready();
    for (const [i, qp] of qps.entries()) await answerOne(session, listener, qp, i);
  } finally {
    context.signal.removeEventListener('abort', stop);
    listener.close();
  }
}

/** Asks for each queue pair once the server is ready. */
export async function findDatagramsByCm(session: PerfSession, ready: () => Promise<unknown>): Promise<void> {
  const { options, qps, local } = session;
  const { server } = options;
  if (server === undefined) throw new RoceError('ERR_ROCE_STATE', 'a client has a server');
  await ready();
  for (const [i, qp] of qps.entries()) {
    bringUp(session, qp, local[i]?.psn ?? 0);
    const { ah, remoteQpn: qpn, qkey } = await find(session, server);
    session.datagramPeers[i] = { ah, qpn, qkey };
    if (serverAnswers(session)) await tellWho(session, qp, i);
  }
}

function bringUp(session: PerfSession, qp: RdmaQp, psn: number): void {
  initialize(session, qp, RDMA_UDP_QKEY);
  readyForDatagrams(qp, psn);
}

async function answerOne(session: PerfSession, listener: RdmaUdListener, qp: RdmaQp, i: number): Promise<void> {
  const { value, done } = await listener.next();
  if (done === true) throw new RoceError('ERR_ROCE_CLOSED', 'no peer connected before the end');
  const answers = serverAnswers(session);
  if (answers) session.postReceive(i);
  value.accept({ qp, qkey: RDMA_UDP_QKEY });
  if (!answers) return;
  const wc = await session.next(session.recvCq);
  if (wc === undefined || wc.immData < 0)
    throw new RoceError('ERR_ROCE_REJECTED', 'the peer does not say which queue pair it is');
  const at = session.receiveOffset(i);
  const ah = await session.pd.createAhFromWc(wc, session.region.bytes.slice(at, at + GRH_BYTES));
  session.datagramPeers[i] = { ah, qpn: wc.immData & 0xff_ff_ff, qkey: RDMA_UDP_QKEY };
}

/** The stock server reports that it is ready a moment before it is. */
async function find({ context, options, pd }: PerfSession, address: IpAddress) {
  for (let tries = 1; ; tries++) {
    try {
      return await context.device.cm.resolveUd({ address, port: options.port, pd });
    } catch (error) {
      const refused = error instanceof RoceError && error.code === 'ERR_ROCE_REJECTED';
      if (!refused || tries === MAX_TRIES) throw error;
      await context.sleep(RETRY_NS);
    }
  }
}

async function tellWho(session: PerfSession, qp: RdmaQp, i: number): Promise<void> {
  const { opcode, ...rest } = session.request(i, WHO_BYTES, true);
  qp.postSend({ ...rest, opcode: WrOpcode.SendWithImm, immData: qp.qpn });
  await session.next(session.sendCq);
}

function serverAnswers({ options: { test, bidirectional } }: PerfSession): boolean {
  return test === 'lat' || bidirectional;
}

const WHO_BYTES = 4;
const MAX_TRIES = 10;
const RETRY_NS = 100e6;
