/**
 * The server of rping: reads what a client offers and writes it back, until the client disconnects. With `persistent`
 * it serves any number of clients at the same time, until it is stopped.
 */

import type { RdmaConnectionRequest, RdmaDevice } from 'rocev2';
import { type IpAddress, RoceError } from 'rocev2/packets';
import { CmRejReason } from 'rocev2/packets/management';
import type { ToolOutput } from '../output.ts';
import { pingText } from './protocol.ts';
import { PingSession, PingState, RDMA_DEPTH, type RpingOptions } from './session.ts';

export interface RpingServerOptions extends RpingOptions {
  /** Takes clients only on this address of the device; default on all. */
  readonly address?: IpAddress;
  readonly persistent?: boolean;
}

/**
 * Serves one client, or with `persistent` all until `signal`; resolves with the exit code of rping: 0 when the client
 * has disconnected in good order. Rejects with ERR_ROCE_IN_USE (port), ERR_ROCE_ADDRESS (not ours), ERR_ROCE_CLOSED.
 */
export async function runRpingServer(
  device: RdmaDevice,
  options: RpingServerOptions,
  output: ToolOutput,
): Promise<number> {
  const { address, signal } = options;
  if (address !== undefined && !device.addresses.some((prefix) => prefix.address.equals(address)))
    throw new RoceError('ERR_ROCE_ADDRESS', `${address} is not an address of this device`);
  const listener = device.cm.listen(options.port);
  if (options.debug === true) output.line('rdma_listen');
  const stop = (): void => listener.close();
  if (signal?.aborted === true) stop();
  else signal?.addEventListener('abort', stop);
  try {
    const clients = new Set<Promise<unknown>>();
    for await (const request of listener) {
      if (signal?.aborted === true || (address !== undefined && !request.localAddress.equals(address))) {
        refuse(request);
        continue;
      }
      if (options.persistent !== true) {
        listener.close();
        return await serveClient(device, request, options, output);
      }
      const client: Promise<unknown> = serveClient(device, request, options, output)
        .catch((error: unknown) => complainOf(error, output))
        .finally(() => clients.delete(client));
      clients.add(client);
    }
    await Promise.all(clients);
    if (signal?.aborted !== true) throw new RoceError('ERR_ROCE_CLOSED', 'the device was closed');
    return 0;
  } finally {
    signal?.removeEventListener('abort', stop);
    listener.close();
    for await (const request of listener) refuse(request);
  }
}

/** Refused as without a listener. A client that has given up meanwhile needs no answer. */
function refuse(request: RdmaConnectionRequest): void {
  try {
    request.reject(undefined, CmRejReason.InvalidServiceId);
  } catch (error) {
    if (!(error instanceof RoceError && error.code === 'ERR_ROCE_STATE')) throw error;
  }
}

async function serveClient(
  device: RdmaDevice,
  request: RdmaConnectionRequest,
  options: RpingServerOptions,
  output: ToolOutput,
): Promise<number> {
  const session = new PingSession(device, 'server', options, output);
  try {
    session.debug('accepting client connection request');
    const connection = await request.accept({
      qp: session.qp,
      initiatorDepth: RDMA_DEPTH,
      responderResources: RDMA_DEPTH,
    });
    session.debug('ESTABLISHED');
    session.connected(connection);
    while (await serveOnePing(session, options, output));
    return session.state === PingState.Disconnected ? 0 : 1;
  } finally {
    await session.end();
  }
}

/** False when there will be no more: the client has gone, or an error was printed. */
async function serveOnePing(
  session: PingSession,
  { verbose }: RpingServerOptions,
  output: ToolOutput,
): Promise<boolean> {
  if (!(await session.reaches(PingState.RdmaReadAdv))) return false;
  session.debug('server received sink adv');
  if (!session.readPing()) return false;
  if (!(await session.reaches(PingState.RdmaReadComplete))) return false;
  session.debug('server received read complete');
  if (verbose === true) output.line(`server ping data: ${pingText(session.pingRegion.bytes)}`);
  session.goAhead();
  if (!(await session.reaches(PingState.RdmaWriteAdv))) return false;
  session.debug('server received sink adv');
  session.writePong();
  if (!(await session.reaches(PingState.RdmaWriteComplete))) return false;
  session.debug('server rdma write complete ');
  session.goAhead();
  return true;
}

/** A fault of one client does not affect the others. A bug of ours does. */
function complainOf(error: unknown, output: ToolOutput): void {
  if (!(error instanceof RoceError)) throw error;
  output.complaint(`connect error: ${error.message}`);
}
