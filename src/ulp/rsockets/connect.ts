/**
 * How an rsocket comes to be: both sides say in the private data of the connection manager where they want to be written
 * (rdma:rsocket.c#rs_do_connect, #raccept). Owns what is asked of the connection manager; a socket is made of the result.
 */
import { CmRejReason } from '../../../packets/cm/index.ts';
import { invariant, RoceError } from '../../../packets/errors.ts';
import type { RdmaConnection, RdmaConnectionRequest, RdmaConnectOptions, RdmaDevice } from '../../device/api.ts';
import { RSocketQp } from './endpoint.ts';
import { type RSocketOptions, type RSocketSettings, settingsOf } from './options.ts';
import { type ConnData, connDataFault, readConnData, writeConnData } from './protocol.ts';

/** Where to connect to, and how. */
export interface RSocketConnectOptions extends RSocketOptions, Omit<RdmaConnectOptions, OwnOptions> {}

/** What the protocol decides: no READs are used, and the peer is waited for as long as it takes. */
type OwnOptions = 'qp' | 'privateData' | 'initiatorDepth' | 'responderResources' | 'rnrRetryCount' | 'retryCount';

/** What a socket is made of. */
export interface Established {
  readonly endpoint: RSocketQp;
  readonly connection: RdmaConnection;
  readonly peer: ConnData;
}

/** Rejects as `RdmaCm.connect`, with ERR_ROCE_ARGUMENT for sizes, with ERR_ROCE_REJECTED when the peer speaks something else. */
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
      throw new RoceError('ERR_ROCE_REJECTED', `the peer does not speak rsocket: ${fault}`);
    }
    return { endpoint, connection, peer: validated(peer) };
  } catch (error) {
    endpoint.free();
    throw error;
  }
}

/** Undefined when who asks speaks something else; it is refused. Rejects as `RdmaConnectionRequest.accept`. */
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

/** Throws as `RSocketQp` when there is no room for one; who asks is refused. */
function endpointFor(request: RdmaConnectionRequest, device: RdmaDevice, settings: RSocketSettings): RSocketQp {
  try {
    return new RSocketQp(device, settings);
  } catch (error) {
    refuse(request, CmRejReason.NoResources);
    throw error;
  }
}

/** Says no; who has lost patience meanwhile needs no answer. @param reason a `CmRejReason` */
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
