/** TCP for devices on Ethernet links: `device.tcp`. */
export type { TcpListener, TcpSocket } from './socket.ts';
export type { RdmaTcp, TcpListenOptions } from './stack.ts';
