/** REQs of callers that do not exist: the bytes of one, made by a real connection manager, with other numbers. */
import type { IpAddress } from 'rocev2';
import { RdmaPortSpace, rdmaServiceId } from 'rocev2/packets';
import type { Prng } from 'rocev2/sim';
import { ConnectionManager } from 'rocev2/transport';

/** The port that honest hosts listen on. */
export const SWARM_PORT = 7471;

/** A REQ for the port that honest hosts listen on. */
export function requestMad(random: Prng, source: IpAddress, destination: IpAddress): Uint8Array {
  const caller = new ConnectionManager({ random, caGuid: 0x66n });
  caller.connect(0, {
    ...{ serviceId: rdmaServiceId(RdmaPortSpace.Tcp, SWARM_PORT), local: source, remote: destination, localPort: 1 },
    ...{ qpn: 2 + random.below(0xff_00), startingPsn: random.u32() >>> 8, mtu: 3, initiatorDepth: 1 },
    ...{ responderResources: 1, retryCount: 7, rnrRetryCount: 7, ackTimeout: 14 },
  });
  const mad = caller.pollTransmit(0);
  if (mad === undefined) throw new Error('a connection manager that connects sends a REQ');
  return mad.bytes;
}
