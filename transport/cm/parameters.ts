/**
 * Checks of what the application passes in. All throw RoceError ERR_ROCE_ARGUMENT or ERR_ROCE_ADDRESS.
 *
 * Owns: ranges of the fields of REQ and REP. Never: checks what a peer sends; that is a status, not an error.
 */
import type { IpAddress } from '../../packets/address.ts';
import {
  CM_LAP_PRIVATE_DATA_BYTES,
  CM_REP_PRIVATE_DATA_BYTES,
  CM_REQ_PRIVATE_DATA_BYTES,
  CM_SIDR_REP_INFO_BYTES,
  CM_SIDR_REP_PRIVATE_DATA_BYTES,
  CM_SIDR_REQ_PRIVATE_DATA_BYTES,
  IP_CM_HEADER_BYTES,
  ipCmHeaderRule,
} from '../../packets/cm/index.ts';
import { RoceError } from '../../packets/errors.ts';
import type { ResolveParameters, SidrAnswer } from './sidr-types.ts';
import type { AcceptParameters, AlternatePath, ConnectParameters } from './types.ts';

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

/** What `accept` takes; an application can check before it changes a queue pair. */
export function checkAccept(parameters: AcceptParameters): void {
  checkRange('qpn', parameters.qpn, 2, 0xff_ff_fe);
  checkRange('startingPsn', parameters.startingPsn, 0, MAX_PSN);
  checkRange('rnrRetryCount', parameters.rnrRetryCount, 0, 7);
  checkDepths(parameters);
  checkRoom('REP', parameters.privateData, CM_REP_PRIVATE_DATA_BYTES);
}

/** What `resolve` takes. */
export function checkResolve(parameters: ResolveParameters): void {
  checkEnds(parameters);
  checkServiceId(parameters.serviceId);
  checkRange('localPort', parameters.localPort, 0, 0xff_ff);
  checkRange('cmResponseTimeout', parameters.cmResponseTimeout ?? 0, 0, 31);
  checkRange('maxCmRetries', parameters.maxCmRetries ?? 0, 0, 15);
  checkRange('partitionKey', parameters.partitionKey ?? 0, 0, 0xff_ff);
  const room = CM_SIDR_REQ_PRIVATE_DATA_BYTES - headerBytes(parameters.serviceId);
  checkRoom('SIDR_REQ', parameters.privateData, room);
}

/** What `answer` takes. */
export function checkSidrAnswer(answer: SidrAnswer): void {
  if ('qpn' in answer) {
    checkRange('status', answer.status ?? 0, 0, 0);
    checkRange('qpn', answer.qpn, 2, 0xff_ff_fe);
    checkRange('qkey', answer.qkey, 0, 0xff_ff_ff_ff);
  } else {
    checkRange('status', answer.status, 1, 0xff);
    if ((answer.info?.length ?? 0) > CM_SIDR_REP_INFO_BYTES) {
      throw new RoceError('ERR_ROCE_ARGUMENT', `SIDR_REP has room for ${CM_SIDR_REP_INFO_BYTES} bytes of information`);
    }
  }
  checkRoom('SIDR_REP', answer.privateData, CM_SIDR_REP_PRIVATE_DATA_BYTES);
}

/** What `loadAlternatePath` takes. */
export function checkAlternatePath(path: AlternatePath, privateData: Uint8Array): void {
  checkEnds(path);
  checkRange('flowLabel', path.flowLabel, 0, 0xf_ff_ff);
  checkRange('trafficClass', path.trafficClass, 0, 0xff);
  checkRange('hopLimit', path.hopLimit, 0, 0xff);
  checkRange('ackTimeout', path.ackTimeout, 0, 31);
  checkRoom('LAP', privateData, CM_LAP_PRIVATE_DATA_BYTES);
}

/** What `connect` takes; an application can check before it changes a queue pair. */
export function checkConnect(parameters: ConnectParameters): void {
  checkEnds(parameters);
  checkServiceId(parameters.serviceId);
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
  checkRoom('REQ', parameters.privateData, CM_REQ_PRIVATE_DATA_BYTES - headerBytes(parameters.serviceId));
}

/** Throws when `data` is longer than the `room` bytes that `message` has for it. */
export function checkRoom(message: string, data: Uint8Array | undefined, room: number): void {
  const length = data?.length ?? 0;
  if (length <= room) return;
  throw new RoceError('ERR_ROCE_ARGUMENT', `${message} has room for ${room} bytes of private data, not ${length}`);
}

function headerBytes(serviceId: bigint): number {
  return ipCmHeaderRule(serviceId) === 'never' ? 0 : IP_CM_HEADER_BYTES;
}

function checkEnds({ local, remote }: { readonly local: IpAddress; readonly remote: IpAddress }): void {
  if (local.version === remote.version) return;
  throw new RoceError('ERR_ROCE_ADDRESS', `${local} and ${remote} differ in IP version`);
}

function checkServiceId(serviceId: bigint): void {
  if (serviceId >= 0n && serviceId >> 64n === 0n) return;
  throw new RoceError('ERR_ROCE_ARGUMENT', 'serviceId must be an unsigned 64-bit number');
}
