/**
 * `roce nvme serve`: a target that serves files as disks.
 *
 * Owns the command line, the files, and what is printed of hosts and queues. The protocol is `rocev2/nvme`.
 */
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import type { RdmaDevice } from 'rocev2';
import { FileBackend, nvmeCrypto } from 'rocev2/node';
import {
  authenticationFailureName,
  type NvmeBackend,
  NvmeSubsystem,
  NvmeTarget,
  type TargetObserver,
  type TargetTimers,
} from 'rocev2/nvme';
import { defined } from 'rocev2/packets';
import { addLinkOptions, collect, exitWith, integer, type LinkFlags, withDevice } from '../options.ts';
import { type ToolOutput, terminal } from '../output.ts';
import { addTargetSecretOptions, type TargetSecretFlags, targetHosts } from './secrets.ts';
import { ServeStatistics } from './serve-statistics.ts';

/** What `serveDisks` is told. */
export interface ServeOptions extends TargetSecretFlags {
  /** Files, the first is namespace 1. */
  readonly namespace: readonly string[];
  /** Size of files that are made or are too short, in bytes. */
  readonly size?: number;
  readonly blockSize: number;
  readonly readOnly?: boolean;
  readonly nqn: string;
  /** Names of hosts that may connect [all]. */
  readonly allowHost?: readonly string[];
  /** More than one: several paths, with ANA. */
  readonly port?: readonly number[];
  readonly queues: number;
  readonly depth: number;
  /** Receives that all I/O queues of a port share; 0: each queue has its own. */
  readonly srq: number;
}

export function serveCommand(): Command {
  const command = new Command('serve')
    .description('serve files as disks, to nvme-cli and Linux')
    .requiredOption('--namespace <file>', 'a file that is a disk; may be repeated', collect(text))
    .option('--size <bytes>', 'make files, or make them longer: 64M, 2G', sizeInBytes)
    .option('--block-size <bytes>', '512 or 4096', integer(512, 4096), 512)
    .option('--read-only', 'nothing is ever written')
    .option('--nqn <name>', 'name of the subsystem', DEFAULT_NQN)
    .option('--allow-host <nqn>', 'a host that may connect, no others; may be repeated', collect(text))
    .option('-p, --port <number>', 'port of RDMA_PS_TCP (default: 4420); repeated: several paths', collectPort)
    .option('--queues <count>', 'I/O queues of a host at most', integer(1, 128), 8)
    .option('--depth <entries>', 'entries of a queue at most', integer(2, 1024), 128)
    .option(
      '--srq <receives>',
      'receives that all I/O queues of a port share; 0: each has its own',
      integer(0, 65_536),
      0,
    );
  return addLinkOptions(addTargetSecretOptions(command)).action(async () => {
    const flags = command.opts<LinkFlags & ServeOptions>();
    exitWith(await withDevice(flags, (device, signal) => serveDisks(device, flags, terminal, signal)));
  });
}

/** Serves until the signal is aborted. Resolves with exit code 0. */
export async function serveDisks(
  device: RdmaDevice,
  options: ServeOptions,
  output: ToolOutput,
  signal: AbortSignal,
): Promise<number> {
  const { nqn, allowHost, namespace, size, blockSize, readOnly, port = [4420], queues, depth, srq } = options;
  const disks: ServedDisk[] = [];
  const targets: NvmeTarget[] = [];
  const statistics = new ServeStatistics(output, process.stderr);
  try {
    const subsystem = new NvmeSubsystem({
      nqn,
      ana: port.length > 1,
      hosts: targetHosts(options),
      crypto: nvmeCrypto,
      ...defined({ allowedHosts: allowHost }),
    });
    for (const path of namespace) {
      const backend = await FileBackend.open(path, defined({ bytes: size, readOnly }));
      const { nsid } = subsystem.addNamespace({ backend, blockBytes: blockSize, uuid: uuidOf(nqn, path) });
      disks.push({ nsid, path, backend });
      output.line(`namespace ${nsid}: ${path}, ${blocksText(backend, blockSize)}`);
    }
    for (const [i, number] of port.entries())
      targets.push(
        NvmeTarget.listen(device, {
          subsystems: [subsystem],
          timers: systemTimers,
          port: number,
          portId: i + 1,
          maxQueues: queues,
          maxEntries: depth,
          srq,
          observer: printer(statistics),
          now: () => performance.now() * 1e6,
        }),
      );
    for (const { address } of device.addresses)
      output.line(`nvme connect -t rdma -a ${address} -s ${port[0]} -n ${nqn}`);
    const watching = setInterval(() => void refreshDisks(disks, subsystem, blockSize, statistics), REFRESH_MS);
    const beating = setInterval(() => statistics.beat(), BEAT_MS);
    await new Promise<void>((end) => {
      if (signal.aborted) end();
      else signal.addEventListener('abort', () => end(), { once: true });
    });
    clearInterval(watching);
    clearInterval(beating);
    statistics.totals();
    return 0;
  } finally {
    await Promise.all(targets.map((target) => target.close()));
    await Promise.all(disks.map(({ backend }) => backend.close()));
  }
}

/** A file that is served. */
export interface ServedDisk {
  readonly nsid: number;
  readonly path: string;
  readonly backend: FileBackend;
}

/** Looks whether files have become longer or shorter, and tells hosts and person. */
export async function refreshDisks(
  disks: readonly ServedDisk[],
  subsystem: NvmeSubsystem,
  blockSize: number,
  output: Pick<ToolOutput, 'line'>,
): Promise<void> {
  for (const { nsid, path, backend } of disks) {
    // A file system that is gone has no size to tell; its reads and writes say so.
    if (!(await backend.refresh().catch(() => false))) continue;
    subsystem.resized(nsid);
    output.line(`namespace ${nsid}: ${path} has now ${blocksText(backend, blockSize)}`);
  }
}

/** How often the queues are told of. */
const BEAT_MS = 1_000;
/** How often files are looked at. */
const REFRESH_MS = 2_000;
/** The longest time that setTimeout takes: 24 days. */
const MOST_MS = 0x7f_ff_ff_ff;

/** Timers of this process, for targets; they do not keep it alive. */
export const systemTimers: TargetTimers = {
  after(durationNs, then) {
    // A longer one would be over at once.
    const timer = setTimeout(then, Math.min(durationNs / 1e6, MOST_MS));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

function printer(output: ServeStatistics): TargetObserver {
  return {
    commandEnded(queue, durationNs) {
      output.ended(queue, durationNs);
    },
    failed(error, queue) {
      output.line(`${queue === undefined ? 'a request' : `queue ${queue.qid}`} has failed: ${String(error)}`);
    },
    queueJoined(controller, queue) {
      const { id, hostNqn, subsystem } = controller;
      const { qid, entries } = queue;
      output.joined(controller, queue);
      const what = subsystem === undefined ? 'discovery controller' : 'controller';
      if (qid === 0) output.line(`${what} ${id}: ${hostNqn} connected`);
      else output.line(`controller ${id}: queue ${qid} of ${entries} entries`);
    },
    authenticated({ id }, { qid }, failure) {
      const what = failure === undefined ? 'authenticated' : `authentication failed: ${failureText(failure)}`;
      output.line(`controller ${id}: queue ${qid}: ${what}`);
    },
    queueClosed(controller, { qid, counters }) {
      const { commands, errors, bytesToHost, bytesFromHost } = counters;
      const whose = controller === undefined ? 'no controller' : `controller ${controller.id}`;
      output.line(
        `${whose}: queue ${qid} closed: ${commands} commands, ${errors} errors, ` +
          `${bytesToHost} bytes read, ${bytesFromHost} written`,
      );
    },
  };
}

/** 0: no answer came. */
function failureText(failure: number): string {
  return failure === 0 ? 'the host took too long' : authenticationFailureName(failure);
}

/** The same for the same file under the same name, so that a host knows the disk again. */
function uuidOf(nqn: string, path: string): Uint8Array {
  const uuid = new Uint8Array(
    createHash('sha256')
      .update(`${nqn}\0${resolve(path)}`)
      .digest()
      .subarray(0, 16),
  );
  // Version 8, the kind that programs define; the variant of RFC 9562.
  uuid[6] = ((uuid[6] ?? 0) & 0x0f) | 0x80;
  uuid[8] = ((uuid[8] ?? 0) & 0x3f) | 0x80;
  return uuid;
}

function blocksText({ bytes }: NvmeBackend, blockSize: number): string {
  return `${Math.floor(bytes / blockSize)} blocks of ${blockSize} bytes`;
}

function sizeInBytes(given: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,9})([KMGT]?)$/i.exec(given) ?? [];
  const bytes = Number(digits) * 1024 ** UNITS.indexOf(unit.toUpperCase());
  if (!(digits !== '' && Number.isSafeInteger(bytes) && bytes > 0))
    throw new InvalidArgumentError('a number of bytes is expected, such as 64M or 2G');
  return bytes;
}

function collectPort(given: string, previous: readonly number[] = []): number[] {
  return [...previous, integer(1, 65_535)(given)];
}

/** Each 1024 times the one before. */
const UNITS = ['', 'K', 'M', 'G', 'T'];
const text = (given: string): string => given;
const DEFAULT_NQN = 'nqn.2026-11.org.rocev2:disks';
