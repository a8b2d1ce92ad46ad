/** The error with which a command fails that the controller has refused. Owns that class. */
import { RoceError } from '../../../../packets/errors.ts';
import { STATUS_CODE_MASK, STATUS_DNR, statusName } from '../codec/index.ts';

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
