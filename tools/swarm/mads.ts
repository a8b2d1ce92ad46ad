/** MADs of callers that do not exist: any message, and REQs as a real connection manager makes them. */
import type { IpAddress } from 'rocev2';
import { type CmMessage, RdmaPortSpace, rdmaServiceId, writeCmMad } from 'rocev2/packets/management';
import type { Prng } from 'rocev2/sim';
import { ConnectionManager } from 'rocev2/transport';

/** The port that honest hosts listen on. */
export const SWARM_PORT = 7471;

/** A REQ for the port that honest hosts listen on; `caGuid` and `qpn` are of another than the caller, if so claimed. */
export function requestMad(
  random: Prng,
  source: IpAddress,
  destination: IpAddress,
  claimed?: { readonly caGuid: bigint; readonly qpn: number },
): Uint8Array {
  const caller = new ConnectionManager({ random, caGuid: claimed?.caGuid ?? 0x66n });
  caller.connect(0, {
    ...{ serviceId: rdmaServiceId(RdmaPortSpace.Tcp, SWARM_PORT), local: source, remote: destination, localPort: 1 },
    ...{ qpn: claimed?.qpn ?? 2 + random.below(0xff_00), startingPsn: random.u32() >>> 8, mtu: 3 },
    ...{ initiatorDepth: 1, responderResources: 1, retryCount: 7, rnrRetryCount: 7, ackTimeout: 14 },
  });
  const mad = caller.pollTransmit(0);
  if (mad === undefined) throw new Error('a connection manager that connects sends a REQ');
  return mad.bytes;
}

/** A REP to that call, of a listener that is none. */
export function falseRep(random: Prng, remoteCommId: number): CmMessage {
  const ids = { localCommId: random.u32(), remoteCommId, privateData: new Uint8Array(0) };
  const counts = { responderResources: 1, initiatorDepth: 1, targetAckDelay: 0, failoverAccepted: 0 };
  const rest = { endToEndFlowControl: 0, rnrRetryCount: 7, srq: 0, localCaGuid: 0x66n } as const;
  const numbers = { localQkey: 0, localQpn: 77, localEecn: 0, startingPsn: 0, vendorId: 0 };
  return { kind: 'REP', body: { ...ids, ...numbers, ...counts, ...rest } };
}

export function madOf(message: CmMessage): Uint8Array {
  const bytes = new Uint8Array(256);
  writeCmMad(new DataView(bytes.buffer), 0, 1n, message);
  return bytes;
}
