/** Errors for what a controller has refused. Owns these classes. */
import { RoceError } from '../../../../packets/errors.ts';
import { authenticationFailureName, STATUS_CODE_MASK, STATUS_DNR, statusName } from '../codec/index.ts';

/**
 * The controller has answered a command with a status other than success.
 *
 * @example
 * ```ts
 * import { attachDevice, World } from 'rocev2';
 * import { connectNvme, FaultyBackend, MemoryBackend, NvmeError } from 'rocev2/nvme';
 * import { NvmeStatus, NvmeSubsystem, NvmeTarget } from 'rocev2/nvme';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const timers = {
 *   after(ns: number, then: () => void): () => void {
 *     let live = true;
 *     void world.sleep(ns).then(() => live && then());
 *     return () => {
 *       live = false;
 *     };
 *   },
 * };
 * const broken = new FaultyBackend(new MemoryBackend(1 << 20), ({ kind }) =>
 *   kind === 'read' ? { status: NvmeStatus.UnrecoveredReadError } : undefined,
 * );
 * const subsystem = new NvmeSubsystem({ nqn: 'nqn.2026-01.example:disk' });
 * subsystem.addNamespace({ backend: broken, uuid: new Uint8Array(16) });
 * NvmeTarget.listen(b, { subsystems: [subsystem], timers });
 * const host = { hostnqn: 'nqn.2026-01.example:host', hostid: new Uint8Array(16), timers };
 * const controller = await world.run(connectNvme(a, { address: '10.0.0.2', subnqn: subsystem.nqn, ...host }));
 * const disk = await world.run(controller.namespace(1));
 * try {
 *   await world.run(disk.read(0, new Uint8Array(512)));
 * } catch (error) {
 *   if (!(error instanceof NvmeError)) throw error;
 *   console.log(error.code, error.statusCode === NvmeStatus.UnrecoveredReadError); // ERR_ROCE_REJECTED true
 * }
 * ```
 */
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

/**
 * Host and controller have not authenticated each other. Trying again does not help: a secret is wrong or missing.
 *
 * @example
 * ```ts
 * import { attachDevice, World } from 'rocev2';
 * import { nvmeCrypto } from 'rocev2/node';
 * import { connectNvme, formatDhchapSecret, NvmeAuthenticationError, NvmeSubsystem, NvmeTarget } from 'rocev2/nvme';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const timers = { after: () => () => {} };
 * const hostnqn = 'nqn.2026-01.example:host';
 * const hosts = [{ nqn: hostnqn, secret: formatDhchapSecret(new Uint8Array(32).fill(7)) }];
 * const subsystem = new NvmeSubsystem({ nqn: 'nqn.2026-01.example:disk', hosts, crypto: nvmeCrypto });
 * NvmeTarget.listen(b, { subsystems: [subsystem], timers });
 * try {
 *   // The host has no secret.
 *   const host = { hostnqn, hostid: new Uint8Array(16), timers };
 *   await world.run(connectNvme(a, { address: '10.0.0.2', subnqn: subsystem.nqn, ...host }));
 * } catch (error) {
 *   if (!(error instanceof NvmeAuthenticationError)) throw error;
 *   console.log(error.code, error.failure); // ERR_ROCE_REJECTED 0
 * }
 * ```
 */
export class NvmeAuthenticationError extends RoceError {
  /** Why: one of `AuthenticationFailure`; 0 where one side does not authenticate at all. */
  readonly failure: number;

  /** `what` says whose fault it is, in words. */
  constructor(what: string, failure = 0) {
    super('ERR_ROCE_REJECTED', failure === 0 ? what : `${what}: ${authenticationFailureName(failure)}`);
    this.failure = failure;
  }
}
