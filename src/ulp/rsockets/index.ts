/**
 * `rocev2/rsockets`: streams of bytes over RDMA, compatible with rsocket(7) of librdmacm. Works with every
 * `RdmaDevice`, in a browser too.
 *
 * @module rocev2/rsockets
 */
export type { RSocketConnectOptions } from './connect.ts';
export { type RDatagramOptions, RDatagramSocket, type Received, type UdpPort } from './datagram.ts';
export type { DatagramSource } from './datagram-protocol.ts';
export type { IoMapping } from './iomaps.ts';
export { RListener, type RListenOptions } from './listener.ts';
export type { RSocketOptions, RSocketSettings } from './options.ts';
export { RSocket, type ShutdownHow } from './rsocket.ts';
