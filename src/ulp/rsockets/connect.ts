/**
 * Connects rsockets: the private data of the connection manager carries each side's buffers
 * (rdma:rsocket.c#rs_do_connect, #raccept). Owns the calls to the connection manager; a socket is made of the result.
 */
import { CmRejReason } from '../../../packets/cm/index.ts';
import { invariant, RoceError } from '../../../packets/errors.ts';
import type { RdmaConnection, RdmaConnectionRequest, RdmaConnectOptions, RdmaDevice } from '../../device/api.ts';
import { RSocketQp } from './endpoint.ts';
import { type RSocketOptions, type RSocketSettings, settingsOf } from './options.ts';
import { type ConnData, connDataFault, readConnData, writeConnData } from './protocol.ts';

/** Where to connect to, and how. */
export interface RSocketConnectOptions extends RSocketOptions, Omit<RdmaConnectOptions, OwnOptions> {}

/** What the protocol decides: no READs are used, and RNR retries are infinite. */
type OwnOptions = 'qp' | 'privateData' | 'initiatorDepth' | 'responderResources' | 'rnrRetryCount' | 'retryCount';

/** What a socket is made of. */
export interface Established {
  readonly endpoint: RSocketQp;
  readonly connection: RdmaConnection;
  readonly peer: ConnData;
}

/**
 * Rejects as `RdmaCm.connect`, with ERR_ROCE_ARGUMENT for sizes, with ERR_ROCE_REJECTED when the peer uses another
 * protocol.
 */
export async function establish(device: RdmaDevice, options: RSocketConnectOptions): Promise<Established> {
  const endpoint = new RSocketQp(device, settingsOf(device, options));
  try {
    const connection = await device.cm.connect({
      ...options,
      ...CONNECTION,
      retryCount: RETRY_COUNT,
      qp: endpoint.qp,
      privateData: writeConnData(endpoint.connData),
    });
    const peer = readConnData(connection.privateData);
    const fault = connDataFault(peer);
    if (fault !== undefined) {
      await connection.disconnect();
      throw new RoceError('ERR_ROCE_REJECTED', `the peer does not use the rsocket protocol: ${fault}`);
    }
    return { endpoint, connection, peer: validated(peer) };
  } catch (error) {
    endpoint.free();
    throw error;
  }
}

/** Undefined when the requester uses another protocol; it is rejected. Rejects as `RdmaConnectionRequest.accept`. */
export async function acceptRequest(
  device: RdmaDevice,
  request: RdmaConnectionRequest,
  settings: RSocketSettings,
): Promise<Established | undefined> {
  const peer = readConnData(request.privateData);
  if (connDataFault(peer) !== undefined) {
    refuse(request, CmRejReason.ConsumerDefined);
    return undefined;
  }
  const endpoint = endpointFor(request, device, settings);
  try {
    const connection = await request.accept({
      ...CONNECTION,
      qp: endpoint.qp,
      privateData: writeConnData(endpoint.connData),
    });
    return { endpoint, connection, peer: validated(peer) };
  } catch (error) {
    endpoint.free();
    throw error;
  }
}

/** Throws as `RSocketQp` when there is no room for one; the request is rejected. */
function endpointFor(request: RdmaConnectionRequest, device: RdmaDevice, settings: RSocketSettings): RSocketQp {
  try {
    return new RSocketQp(device, settings);
  } catch (error) {
    refuse(request, CmRejReason.NoResources);
    throw error;
  }
}

/** Rejects a request; one that has timed out meanwhile needs no answer. @param reason a `CmRejReason` */
export function refuse(request: RdmaConnectionRequest, reason: number): void {
  try {
    request.reject(undefined, reason);
  } catch (error) {
    if (!(error instanceof RoceError && error.code === 'ERR_ROCE_STATE')) throw error;
  }
}

function validated(peer: ConnData | undefined): ConnData {
  invariant(peer !== undefined, 'private data without a fault was read');
  return peer;
}

const CONNECTION = { initiatorDepth: 0, responderResources: 0, rnrRetryCount: 7 } as const;
const RETRY_COUNT = 7;
