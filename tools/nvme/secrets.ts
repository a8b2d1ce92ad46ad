/**
 * Secrets of DH-HMAC-CHAP on command lines, by nvme-cli's names of options: as they are, or `@FILE` for one in a file.
 *
 * Owns reading them. No message has a part of one, and a command line that has one is hidden from the process list.
 */
import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { nvmeCrypto } from 'rocev2/node';
import {
  DhchapGroup,
  DhchapHash,
  DhchapSecret,
  dhchapGroupName,
  dhchapGroupNamed,
  dhchapHashName,
  dhchapHashNamed,
  type HostAccess,
  type NvmeConnectOptions,
} from 'rocev2/nvme';
import { defined, RoceError } from 'rocev2/packets';
import { fileErrorText } from '../file-error.ts';
import { collect } from '../options.ts';

/** Of a host. */
export interface HostSecretFlags {
  readonly dhchapSecret?: string;
  readonly dhchapCtrlSecret?: string;
}

/** Of a target: those of the first `--host` first. */
export interface TargetSecretFlags {
  readonly host?: readonly string[];
  readonly dhchapSecret?: readonly string[];
  readonly dhchapCtrlSecret?: readonly string[];
  readonly dhchapHash?: string;
  readonly dhchapDhgroup?: string;
}

// No parser of these options throws: commander would print what it was given.

export function addHostSecretOptions(command: Command): Command {
  return command
    .option('--dhchap-secret <secret>', 'secret of this host, DHHC-1:...: or @FILE')
    .option('--dhchap-ctrl-secret <secret>', 'secret of the controller, which has to prove itself then');
}

export function addTargetSecretOptions(command: Command): Command {
  return command
    .option('--host <nqn>', 'a host that has to authenticate; may be repeated, with a secret each', collect(text))
    .option('--dhchap-secret <secret>', 'its secret, DHHC-1:...: or @FILE', collect(text))
    .option('--dhchap-ctrl-secret <secret>', 'secret to prove ourselves with, where it asks', collect(text))
    .addOption(new Option('--dhchap-hash <name>', 'hash function').choices(HASHES).default('sha256'))
    .addOption(new Option('--dhchap-dhgroup <name>', 'Diffie-Hellman group').choices(GROUPS).default('null'));
}

/** What `connectNvme` is given. @throws RoceError ERR_ROCE_ARGUMENT */
export function hostSecrets(flags: HostSecretFlags): Partial<NvmeConnectOptions> {
  const { dhchapSecret, dhchapCtrlSecret } = flags;
  if (dhchapSecret === undefined && dhchapCtrlSecret === undefined) return {};
  return {
    crypto: nvmeCrypto,
    ...defined({
      hostSecret: dhchapSecret === undefined ? undefined : readSecret(dhchapSecret, '--dhchap-secret'),
      controllerSecret:
        dhchapCtrlSecret === undefined ? undefined : readSecret(dhchapCtrlSecret, '--dhchap-ctrl-secret'),
    }),
  };
}

/** The hosts of a subsystem. @throws RoceError ERR_ROCE_ARGUMENT */
export function targetHosts(flags: TargetSecretFlags): HostAccess[] {
  const { host = [], dhchapSecret = [], dhchapCtrlSecret = [], dhchapHash = 'sha256', dhchapDhgroup = 'null' } = flags;
  if (dhchapSecret.length !== host.length)
    throw refusal(`each --host has a --dhchap-secret: there are ${host.length} and ${dhchapSecret.length}`);
  if (dhchapCtrlSecret.length !== 0 && dhchapCtrlSecret.length !== host.length)
    throw refusal('--dhchap-ctrl-secret is given for each --host or for none');
  const common = defined({ hash: dhchapHashNamed(dhchapHash), group: dhchapGroupNamed(dhchapDhgroup) });
  return host.map((nqn, i) => {
    const own = dhchapCtrlSecret[i];
    return {
      nqn,
      secret: readSecret(dhchapSecret[i] ?? '', '--dhchap-secret'),
      ...(own === undefined ? {} : { controllerSecret: readSecret(own, '--dhchap-ctrl-secret') }),
      ...common,
    };
  });
}

function readSecret(given: string, option: string): DhchapSecret {
  const inFile = given.startsWith('@');
  if (!inFile) hideCommandLine();
  try {
    return DhchapSecret.parse(inFile ? readFileSync(given.slice(1), 'utf8') : given);
  } catch (cause) {
    const where = inFile ? `${option} ${given}` : option;
    if (cause instanceof RoceError) throw refusal(`${where}: ${cause.message}`);
    if (cause instanceof Error && 'code' in cause) throw refusal(`${where}: ${fileErrorText(cause)}`);
    throw cause;
  }
}

/** The list of processes shows a title in the place of arguments. */
function hideCommandLine(): void {
  process.title = 'roce nvme';
}

function refusal(message: string): RoceError {
  return new RoceError('ERR_ROCE_ARGUMENT', message);
}

const text = (given: string): string => given;
const HASHES = Object.values(DhchapHash).map(dhchapHashName);
const GROUPS = Object.values(DhchapGroup).map(dhchapGroupName);
