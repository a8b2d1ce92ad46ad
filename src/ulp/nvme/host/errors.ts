/** Errors for what a controller has refused. Owns these classes. */
import { RoceError } from '../../../../packets/errors.ts';
import { authenticationFailureName, STATUS_CODE_MASK, STATUS_DNR, statusName } from '../codec/index.ts';

/** The controller has answered a command with a status other than success. */
export class NvmeError extends RoceError {
  /** The status, 15 bits: one of `NvmeStatus` in the bits of `STATUS_CODE_MASK`, `STATUS_DNR` and others above. */
  readonly status: number;
  /** Dword 0 of the completion: of a refused Connect it says which parameter. */
  readonly dw0: number;

  /** `what` is the command, in words. */
  constructor(what: string, status: number, dw0 = 0, of: 'nvm' | 'fabrics' = 'nvm') {
    super('ERR_ROCE_REJECTED', `${what}: ${statusName(status, of)}`);
    this.status = status;
    this.dw0 = dw0;
  }

  /** Type and code: one of `NvmeStatus`. */
  get statusCode(): number {
    return this.status & STATUS_CODE_MASK;
  }

  /** Whether the same command would fail again. */
  get doNotRetry(): boolean {
    return (this.status & STATUS_DNR) !== 0;
  }
}

/** Host and controller have not authenticated each other. Trying again does not help: a secret is wrong or missing. */
export class NvmeAuthenticationError extends RoceError {
  /** Why: one of `AuthenticationFailure`; 0 where one side does not authenticate at all. */
  readonly failure: number;

  /** `what` says whose fault it is, in words. */
  constructor(what: string, failure = 0) {
    super('ERR_ROCE_REJECTED', failure === 0 ? what : `${what}: ${authenticationFailureName(failure)}`);
    this.failure = failure;
  }
}
