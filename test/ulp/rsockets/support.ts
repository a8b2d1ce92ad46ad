/** Two rsockets in the simulated world, and bytes to send. */
import type { World } from '../../../src/index.ts';
import { RListener, RSocket, type RSocketOptions } from '../../../src/ulp/rsockets/index.ts';
import { makePair, type Pair, type PairOptions } from '../../device/support.ts';

export const PORT = 7471;

export interface SocketPair extends Pair {
  /** Of device a, which connected. */
  readonly client: RSocket;
  /** Of device b. */
  readonly server: RSocket;
}

export interface SocketPairOptions extends PairOptions {
  readonly clientOptions?: RSocketOptions;
  readonly serverOptions?: RSocketOptions;
}

export async function connectSockets(options: SocketPairOptions = {}): Promise<SocketPair> {
  const { clientOptions = {}, serverOptions = {}, ...pairOptions } = options;
  const pair = makePair(pairOptions);
  const listener = RListener.listen(pair.b, { port: PORT, ...serverOptions });
  const [client, server] = await pair.world.run(
    Promise.all([RSocket.connect(pair.a, { address: '10.0.0.2', port: PORT, ...clientOptions }), listener.accept()]),
  );
  await listener.close();
  return { ...pair, client, server };
}

/** `length` bytes, each different from its neighbours. */
export function pattern(length: number, first = 0): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (first + i * 7 + (i >> 8)) & 0xff);
}

/** Receives exactly as many bytes, fewer at the end of the stream. */
export async function receiveAll(socket: RSocket, length: number, chunk = length): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let at = 0;
  while (at < length) {
    const received = await socket.recv(bytes.subarray(at, Math.min(length, at + chunk)));
    if (received === 0) break;
    at += received;
  }
  return bytes.subarray(0, at);
}

export async function closeBoth(world: World, { client, server }: SocketPair): Promise<void> {
  await world.run(Promise.all([client.close(), server.close()]));
}
