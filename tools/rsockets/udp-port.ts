/**
 * UDP for datagram rsockets, from the kernel: works where the kernel has the device's address, as with links that share
 * it. Datagrams of any sender are handed over; what cannot be sent is lost, as datagrams are.
 */
import { createSocket } from 'node:dgram';
import { type IpAddress, RoceError } from 'rocev2/packets';
import type { UdpPort } from 'rocev2/rsockets';
import { kernelAddress } from '../kernel-address.ts';

/** Binds a port on one of the kernel's addresses, 0 for any port. Rejects with ERR_ROCE_ADDRESS or ERR_ROCE_IN_USE. */
export async function openUdpPort(address: IpAddress, port: number): Promise<UdpPort> {
  const socket = createSocket(address.version === 4 ? 'udp4' : 'udp6');
  await new Promise<void>((resolve, reject) => {
    socket.once('error', (error) => reject(refusal(error, address, port)));
    socket.bind(port, address.toString(), resolve);
  });
  // Errors of single datagrams: they are lost.
  socket.removeAllListeners('error').on('error', () => {});
  let open = true;
  return {
    port: socket.address().port,
    send: (bytes, to, toPort) => {
      if (open) socket.send(bytes.slice(), toPort, to.toString(), () => {});
    },
    listen: (handler) => {
      socket.on('message', (bytes, from) => handler(bytes, kernelAddress(from.address), from.port));
    },
    close: () => {
      if (open) socket.close();
      open = false;
    },
  };
}

function refusal(error: Error, address: IpAddress, port: number): RoceError {
  const inUse = 'code' in error && error.code === 'EADDRINUSE';
  if (inUse) return new RoceError('ERR_ROCE_IN_USE', `UDP port ${port} is in use`, { cause: error });
  const words = `the kernel of this host does not have ${address}: datagram rsockets need its UDP, as udp6 or packet-ring links leave it`;
  return new RoceError('ERR_ROCE_ADDRESS', words, { cause: error });
}
