/** Errors between threads: class, code and message are kept; the stack becomes that of the receiving thread. */
import { InvariantError, RoceError, type RoceErrorCode } from '../../../packets/errors.ts';
import { AlternatePathRefused } from '../../device/cm/alternate-paths.ts';
import { ConnectionRejected } from '../../device/cm/connection.ts';
import { ServiceRefused } from '../../device/cm/datagram-service.ts';

export type WireError =
  | { readonly kind: 'roce'; readonly code: RoceErrorCode; readonly message: string; readonly cause?: WireError }
  | { readonly kind: 'rejected'; readonly reason: number; readonly privateData: Uint8Array; readonly info: Uint8Array }
  | { readonly kind: 'service'; readonly status: number; readonly privateData: Uint8Array; readonly info: Uint8Array }
  | { readonly kind: 'path'; readonly status: number; readonly info: Uint8Array }
  /** `name` is that of the class; `stack` says where in the worker. */
  | { readonly kind: 'other'; readonly name: string; readonly message: string; readonly stack: string };

export function toWire(error: unknown): WireError {
  if (error instanceof ConnectionRejected)
    return { kind: 'rejected', reason: error.reason, privateData: error.privateData, info: error.info };
  if (error instanceof ServiceRefused)
    return { kind: 'service', status: error.status, privateData: error.privateData, info: error.info };
  if (error instanceof AlternatePathRefused) return { kind: 'path', status: error.status, info: error.info };
  if (error instanceof RoceError) {
    const { code, message, cause } = error;
    return { kind: 'roce', code, message, ...(cause === undefined ? {} : { cause: toWire(cause) }) };
  }
  if (error instanceof Error)
    return { kind: 'other', name: error.name, message: error.message, stack: error.stack ?? '' };
  return { kind: 'other', name: 'Error', message: String(error), stack: '' };
}

export function fromWire(error: WireError): Error {
  switch (error.kind) {
    case 'rejected':
      return new ConnectionRejected(error.reason, error.privateData, error.info);
    case 'service':
      return new ServiceRefused(error.status, error.info, error.privateData);
    case 'path':
      return new AlternatePathRefused(error.status, error.info);
    case 'roce':
      return roceFromWire(error);
    default:
      return otherFromWire(error);
  }
}

/** For places where only a `RoceError` can come. */
export function roceFromWire(error: WireError): RoceError {
  if (error.kind !== 'roce') {
    const cause = fromWire(error);
    return cause instanceof RoceError ? cause : new RoceError('ERR_ROCE_CLOSED', cause.message, { cause });
  }
  const { code, message, cause } = error;
  return new RoceError(code, message, cause === undefined ? {} : { cause: fromWire(cause) });
}

function otherFromWire({ name, message, stack }: Extract<WireError, { kind: 'other' }>): Error {
  const error = construct(name, message);
  error.stack = `${stack}\n    -- in the worker thread; asked for by --\n${error.stack ?? ''}`;
  return error;
}

function construct(name: string, message: string): Error {
  switch (name) {
    case 'InvariantError':
      return new InvariantError(message);
    case 'TypeError':
      return new TypeError(message);
    case 'RangeError':
      return new RangeError(message);
    default:
      return new Error(message);
  }
}
