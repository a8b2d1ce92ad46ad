/** How a host connects: options with their defaults, and the timers that it is given. Owns no behaviour. */

import type { IpAddress } from '../../../../packets/address.ts';
import { RoceError } from '../../../../packets/errors.ts';
import { type DhchapSecret, secretOf } from '../auth/secret.ts';
import type { NvmeCrypto } from '../auth/suite.ts';

/** Time, for a protocol that has no clock: in a program a wrapper of setTimeout, in a simulation the world's. */
export interface NvmeTimers {
  /** Calls `then` once after so many nanoseconds; what it returns cancels that. */
  after(durationNs: number, then: () => void): () => void;
}

/** Where a subsystem or a discovery service is, and who asks. */
export interface NvmeAddress {
  /** The target's. */
  readonly address: IpAddress | string;
  /** Its port [4420]. */
  readonly port?: number;
  /** One of the device's addresses [the one on the target's subnet]. */
  readonly source?: IpAddress | string;
  /** Name of this host: nqn.2014-08.org.nvmexpress:uuid:... */
  readonly hostnqn: string;
  /** Identifier of this host, 16 bytes: the same for all connections under one name. */
  readonly hostid: Uint8Array;
  /** Timers. */
  readonly timers: NvmeTimers;
}

/** How a host connects to a subsystem. */
export interface NvmeConnectOptions extends NvmeAddress {
  /** Name of the subsystem. */
  readonly subnqn: string;
  /** I/O queues to ask for, 1 or more; the controller may grant fewer [1]. */
  readonly queues?: number;
  /** Entries of an I/O queue, 2..1024: one less is outstanding at most [128]. */
  readonly queueSize?: number;
  /** Keep-alive timeout in milliseconds; 0 for none [5000]. */
  readonly keepAliveMs?: number;
  /** Bytes of a write that travel with the command at most, as far as the controller takes them [4096]. */
  readonly inCapsuleBytes?: number;
  /** Bytes of one command at most; longer reads and writes become several [1 MiB]. */
  readonly maxTransferBytes?: number;
  /** How long a command may take before the connection is given up, in milliseconds; 0: no limit [30000]. */
  readonly commandTimeoutMs?: number;
  /** Attempts to reconnect after a loss before everything fails; 0 for none [60]. */
  readonly reconnectTries?: number;
  /** Wait before each attempt, in milliseconds [1000]. */
  readonly reconnectDelayMs?: number;
  /** Whether the key of a command is invalidated by its response; else it is done here [yes]. */
  readonly remoteInvalidate?: boolean;
  /** Secret of this host, DHHC-1:...: as nvme-cli makes it, for controllers that demand authentication [none]. */
  readonly hostSecret?: string | DhchapSecret;
  /** Secret of the controller: one that does not prove to have it is not connected to [none]. */
  readonly controllerSecret?: string | DhchapSecret;
  /** For secrets: `nvmeCrypto` of `rocev2/node`, or another. */
  readonly crypto?: NvmeCrypto;
}

/** The options with nothing left open. */
export type NvmeSettings = Required<Omit<NvmeConnectOptions, 'source' | Secrets>> &
  Pick<NvmeConnectOptions, 'source'> & { readonly credentials: HostCredentials | undefined };

/** What the host proves itself with, and what the controller has to. */
export interface HostCredentials {
  readonly suite: NvmeCrypto;
  readonly secret: DhchapSecret;
  readonly controllerSecret: DhchapSecret | undefined;
}

type Secrets = 'hostSecret' | 'controllerSecret' | 'crypto';

/** Secrets in place of those in use; one that is left out stays. */
export type NvmeSecrets = Pick<NvmeConnectOptions, 'hostSecret' | 'controllerSecret' | 'crypto'>;

/** @throws RoceError ERR_ROCE_ARGUMENT */
export function settingsOf(options: NvmeConnectOptions): NvmeSettings {
  const { hostSecret, controllerSecret, crypto, ...others } = options;
  const settings: NvmeSettings = {
    port: NVME_RDMA_PORT,
    queues: 1,
    queueSize: 128,
    keepAliveMs: 5000,
    inCapsuleBytes: 4096,
    maxTransferBytes: 1 << 20,
    commandTimeoutMs: 30_000,
    reconnectTries: 60,
    reconnectDelayMs: 1000,
    remoteInvalidate: true,
    ...others,
    credentials: credentialsOf({ hostSecret, controllerSecret, crypto }),
  };
  demandRange('queues', settings.queues, 1, MAX_QUEUES);
  demandRange('queueSize', settings.queueSize, 2, MAX_QUEUE_SIZE);
  demandRange('keepAliveMs', settings.keepAliveMs, 0, 0xff_ff_ff_ff);
  demandRange('inCapsuleBytes', settings.inCapsuleBytes, 0, 1 << 20);
  demandRange('maxTransferBytes', settings.maxTransferBytes, 4096, MAX_TRANSFER_BYTES);
  demandRange('commandTimeoutMs', settings.commandTimeoutMs, 0, 86_400_000);
  demandRange('reconnectTries', settings.reconnectTries, 0, 1_000_000);
  demandRange('reconnectDelayMs', settings.reconnectDelayMs, 1, 86_400_000);
  if (settings.hostid.length !== 16) throw new RoceError('ERR_ROCE_ARGUMENT', 'a host identifier has 16 bytes');
  return settings;
}

/** Those in use with others in their place. @throws RoceError ERR_ROCE_ARGUMENT, where there are none */
export function otherCredentials(before: HostCredentials | undefined, secrets: NvmeSecrets): HostCredentials {
  const credentials = credentialsOf({
    hostSecret: secrets.hostSecret ?? before?.secret,
    controllerSecret: secrets.controllerSecret ?? before?.controllerSecret,
    crypto: secrets.crypto ?? before?.suite,
  });
  if (credentials === undefined) throw new RoceError('ERR_ROCE_ARGUMENT', 'there is no hostSecret to prove');
  return credentials;
}

function credentialsOf(
  given: {
    readonly [K in Secrets]: NvmeConnectOptions[K] | undefined;
  },
): HostCredentials | undefined {
  const { hostSecret, controllerSecret, crypto: suite } = given;
  if (hostSecret === undefined && controllerSecret === undefined) return undefined;
  if (hostSecret === undefined)
    throw new RoceError('ERR_ROCE_ARGUMENT', 'controllerSecret needs hostSecret: the host proves itself first');
  if (suite === undefined)
    throw new RoceError(
      'ERR_ROCE_ARGUMENT',
      'secrets need the option crypto: nvmeCrypto of rocev2/node is that of Node',
    );
  return {
    suite,
    secret: secretOf(hostSecret),
    controllerSecret: controllerSecret === undefined ? undefined : secretOf(controllerSecret),
  };
}

function demandRange(name: string, value: number, least: number, most: number): void {
  if (!(Number.isInteger(value) && value >= least && value <= most))
    throw new RoceError('ERR_ROCE_ARGUMENT', `${name} is ${value}, and has to be ${least} to ${most}`);
}

/** Port of subsystems on RDMA; discovery services are at 8009 or here. */
export const NVME_RDMA_PORT = 4420;
/** More queues than any controller has use for. */
const MAX_QUEUES = 1024;
const MAX_QUEUE_SIZE = 1024;
/** A keyed descriptor has 24 bits for a length. */
const MAX_TRANSFER_BYTES = 8 << 20;
/** Nanoseconds of a millisecond. */
export const MS = 1_000_000;
