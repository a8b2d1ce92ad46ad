/**
 * The client of rping: offers a buffer to be read, then one to be written, and compares what came back.
 */

import type { RdmaConnection, RdmaConnectOptions, RdmaDevice } from 'rocev2';
import { defined, type IpAddress, RoceError } from 'rocev2/packets';
import type { ToolOutput } from '../output.ts';
import { fillPing, pingText } from './protocol.ts';
import { PingSession, PingState, RDMA_DEPTH, type RpingOptions } from './session.ts';

export interface RpingClientOptions extends RpingOptions {
  /** The server's. */
  readonly address: IpAddress;
  /** Our address to connect from; default the one on the server's subnet. */
  readonly source?: IpAddress;
  /** Pings; 0, the default, goes on until the server disconnects or `signal`. */
  readonly count?: number;
  /** Compares what came back with what was sent. */
  readonly validate?: boolean;
}

/**
 * Pings and disconnects; resolves with the exit code of rping: 0 when nothing failed.
 * Rejects as `Device.cm.connect` does.
 */
export async function runRpingClient(
  device: RdmaDevice,
  options: RpingClientOptions,
  output: ToolOutput,
): Promise<number> {
  const { address, source, port, signal } = options;
  const session = new PingSession(device, 'client', options, output);
  try {
    const request: RdmaConnectOptions = {
      address,
      ...defined({ source }),
      port,
      qp: session.qp,
      initiatorDepth: RDMA_DEPTH,
      responderResources: RDMA_DEPTH,
      retryCount: RETRY_COUNT,
      rnrRetryCount: RETRY_COUNT,
    };
    session.connected(await unlessAborted(device.cm.connect(request), signal));
    session.debug('rdma_connect successful');
    for (let ping = 0; options.count === undefined || options.count === 0 || ping < options.count; ping++) {
      if (!(await exchangePing(session, ping, options, output))) {
        return session.state === PingState.Disconnected ? 0 : 1;
      }
    }
    return 0;
  } finally {
    await session.end();
  }
}

/** False when there will be no more: the server has gone, or an error was printed. */
async function exchangePing(
  session: PingSession,
  ping: number,
  options: RpingClientOptions,
  output: ToolOutput,
): Promise<boolean> {
  const { pingRegion, startRegion } = session;
  if (startRegion === undefined) throw new RoceError('ERR_ROCE_STATE', 'a server does not ping');
  fillPing(startRegion.bytes, ping);
  session.state = PingState.RdmaReadAdv;
  session.advertise(startRegion);
  if (!(await session.reaches(PingState.RdmaWriteAdv))) return false;
  session.advertise(pingRegion);
  if (!(await session.reaches(PingState.RdmaWriteComplete))) return false;
  if (options.validate === true && !sameBytes(startRegion.bytes, pingRegion.bytes)) {
    session.complain('data mismatch!');
    session.state = PingState.Error;
    return false;
  }
  if (options.verbose === true) output.line(`ping data: ${pingText(pingRegion.bytes)}`);
  return true;
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** An interrupted connect leaves nothing to disconnect: the device's end is its end. */
function unlessAborted(connecting: Promise<RdmaConnection>, signal: AbortSignal | undefined): Promise<RdmaConnection> {
  if (signal === undefined) return connecting;
  const interrupted = new Promise<never>((_, reject) => {
    const stop = (): void => reject(new RoceError('ERR_ROCE_CLOSED', 'interrupted while connecting'));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  return Promise.race([connecting, interrupted]);
}

const RETRY_COUNT = 7;
