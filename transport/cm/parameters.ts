/**
 * Checks of what the application passes in. All throw RoceError ERR_ROCE_ARGUMENT or ERR_ROCE_ADDRESS.
 *
 * Owns: ranges of the fields of REQ and REP. Never: checks what a peer sends; that is a status, not an error.
 */
import { CM_REQ_PRIVATE_DATA_BYTES, IP_CM_HEADER_BYTES, isRdmaServiceId } from '../../packets/cm/index.ts';
import { RoceError } from '../../packets/errors.ts';
import type { ConnectParameters } from './types.ts';

export const MAX_PSN = 0xff_ff_ff;

/** A queue pair that can be the end of a connection: not 0, 1 (management) or the multicast number. */
export function isDataQpn(qpn: number): boolean {
  return qpn >= 2 && qpn < 0xff_ff_ff;
}

export function checkRange(name: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new RoceError('ERR_ROCE_ARGUMENT', `${name} must be an integer from ${min} to ${max}, not ${value}`);
  }
}

export function checkDepths(parameters: {
  readonly initiatorDepth: number;
  readonly responderResources: number;
}): void {
  checkRange('initiatorDepth', parameters.initiatorDepth, 0, 0xff);
  checkRange('responderResources', parameters.responderResources, 0, 0xff);
}

export function checkConnect(parameters: ConnectParameters): void {
  if (parameters.local.version !== parameters.remote.version) {
    throw new RoceError('ERR_ROCE_ADDRESS', `${parameters.local} and ${parameters.remote} differ in IP version`);
  }
  if (parameters.serviceId < 0n || parameters.serviceId >> 64n !== 0n) {
    throw new RoceError('ERR_ROCE_ARGUMENT', 'serviceId must be an unsigned 64-bit number');
  }
  checkRange('qpn', parameters.qpn, 2, 0xff_ff_fe);
  checkRange('startingPsn', parameters.startingPsn, 0, MAX_PSN);
  checkRange('mtu', parameters.mtu, 1, 5);
  checkRange('retryCount', parameters.retryCount, 0, 7);
  checkRange('rnrRetryCount', parameters.rnrRetryCount, 0, 7);
  checkRange('ackTimeout', parameters.ackTimeout, 0, 31);
  checkRange('localPort', parameters.localPort, 0, 0xff_ff);
  checkRange('cmResponseTimeout', parameters.cmResponseTimeout ?? 0, 0, 31);
  checkRange('maxCmRetries', parameters.maxCmRetries ?? 0, 0, 15);
  checkRange('trafficClass', parameters.trafficClass ?? 0, 0, 0xff);
  checkRange('hopLimit', parameters.hopLimit ?? 0, 0, 0xff);
  checkRange('flowLabel', parameters.flowLabel ?? 0, 0, 0xf_ff_ff);
  checkRange('partitionKey', parameters.partitionKey ?? 0, 0, 0xff_ff);
  checkDepths(parameters);
  const room = CM_REQ_PRIVATE_DATA_BYTES - (isRdmaServiceId(parameters.serviceId) ? IP_CM_HEADER_BYTES : 0);
  const length = parameters.privateData?.length ?? 0;
  if (length > room)
    throw new RoceError('ERR_ROCE_ARGUMENT', `REQ has room for ${room} bytes of private data, not ${length}`);
}
