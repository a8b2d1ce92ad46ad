/**
 * `roce nvme discover`, `read`, `write` and `connect-bench`: the host's half of `roce nvme`, in nvme-cli's words.
 *
 * Owns these command lines and what they print. The protocol is `rocev2/nvme`.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import type { RdmaDevice } from 'rocev2';
import {
  connectNvme,
  discoverNvme,
  type NvmeAddress,
  type NvmeController,
  type NvmeNamespace,
  readNvme,
  writeNvme,
} from 'rocev2/nvme';
import type { IpAddress } from 'rocev2/packets';
import { addLinkOptions, exitWith, integer, type LinkFlags, parseAddress, withDevice } from '../options.ts';
import { type ToolOutput, terminal } from '../output.ts';
import { formatTable, grouped } from '../table.ts';
import { addHostSecretOptions, type HostSecretFlags, hostSecrets } from './secrets.ts';

interface HostFlags extends HostSecretFlags {
  readonly traddr: IpAddress;
  readonly trsvcid: number;
  readonly hostnqn?: string;
  readonly nqn: string;
  readonly namespaceId: number;
  readonly nrIoQueues: number;
  readonly queueSize: number;
  readonly keepAliveTmo: number;
}

/** The four commands. */
export function nvmeHostCommands(): Command[] {
  return [discoverCommand(), readCommand(), writeCommand(), benchCommand()];
}

function discoverCommand(): Command {
  const command = new Command('discover').description('ask a discovery service which subsystems there are');
  return onDevice(addHostSecretOptions(addressOptions(command)), async (device, flags, output) => {
    const { genctr, entries } = await discoverNvme(device, { ...addressOf(flags), ...hostSecrets(flags) });
    output.line(`Discovery Log Number of Records ${entries.length}, Generation counter ${genctr}`);
    const rows = entries.map((entry) => [
      TRANSPORTS[entry.trtype] ?? `${entry.trtype}`,
      entry.traddr,
      entry.trsvcid,
      SUBTYPES[entry.subtype] ?? `${entry.subtype}`,
      `${entry.portid}`,
      entry.subnqn,
    ]);
    for (const line of formatTable(['trtype', 'traddr', 'trsvcid', 'subtype', 'portid', 'subnqn'], rows, [
      'left',
      'left',
      'left',
      'left',
      'right',
      'left',
    ]))
      output.line(line);
  });
}

interface RangeFlags extends HostFlags {
  readonly startBlock: number;
  readonly blockCount?: number;
  readonly data?: string;
}

function readCommand(): Command {
  const command = rangeOptions(new Command('read').description('read blocks of a namespace into a file'));
  return onDevice<RangeFlags>(command, (device, flags, output) =>
    withDisk(device, flags, async (disk) => {
      const offset = flags.startBlock * disk.blockBytes;
      const length = (flags.blockCount ?? disk.blocks - flags.startBlock) * disk.blockBytes;
      const hash = createHash('sha256');
      const pieces = async function* (): AsyncGenerator<Uint8Array> {
        for await (const piece of readNvme(disk, offset, length)) {
          hash.update(piece);
          yield piece;
        }
      };
      const began = performance.now();
      if (flags.data === undefined) for await (const _ of pieces());
      else await pipeline(Readable.from(pieces()), createWriteStream(flags.data));
      output.line(`read: ${grouped(length)} bytes${rate(length, began)}, sha256 ${hash.digest('hex')}`);
    }),
  );
}

function writeCommand(): Command {
  const command = rangeOptions(new Command('write').description('write a file into blocks of a namespace, and flush'));
  return onDevice<RangeFlags>(command, (device, flags, output) => {
    const { data } = flags;
    if (data === undefined) return command.error('error: write needs --data, the file to write');
    return withDisk(device, flags, async (disk) => {
      const began = performance.now();
      const bytes = await writeNvme(disk, flags.startBlock * disk.blockBytes, createReadStream(data));
      await disk.flush();
      output.line(`write: ${grouped(bytes)} bytes${rate(bytes, began)}`);
    });
  });
}

interface BenchFlags extends HostFlags {
  readonly bs: number;
  readonly iodepth: number;
  readonly runtime: number;
}

function benchCommand(): Command {
  const command = addressOptions(
    new Command('connect-bench').description('connect, and read at random for some seconds'),
  );
  diskOptions(command)
    .option('--bs <bytes>', 'bytes of a read', integer(512, 1 << 20), 4096)
    .option('--iodepth <reads>', 'reads outstanding', integer(1, 1024), 32)
    .option('--runtime <seconds>', 'how long', integer(1, 86_400), 5);
  return onDevice<BenchFlags>(command, (device, flags, output) =>
    withDisk(device, flags, async (disk, controller) => {
      const took: number[] = [];
      const began = performance.now();
      const end = began + flags.runtime * 1000;
      const blocks = Math.max(1, Math.floor(flags.bs / disk.blockBytes));
      const reader = async (): Promise<void> => {
        const into = new Uint8Array(blocks * disk.blockBytes);
        for (let now = performance.now(); now < end; ) {
          await disk.read(Math.floor(Math.random() * (disk.blocks - blocks + 1)), into);
          const after = performance.now();
          took.push(after - now);
          now = after;
        }
      };
      await Promise.all(Array.from({ length: flags.iodepth }, reader));
      const seconds = (performance.now() - began) / 1000;
      took.sort((a, b) => a - b);
      const at = (part: number): string => `${((took[Math.floor(took.length * part)] ?? 0) * 1000).toFixed(0)} us`;
      output.line(`read: IOPS=${grouped(Math.round(took.length / seconds))}, p50 ${at(0.5)}, p99 ${at(0.99)}`);
      output.line(
        `queues: ${controller.completed.map(grouped).join(', ')} commands; ${controller.reconnects} reconnects`,
      );
    }),
  );
}

function addressOptions(command: Command): Command {
  return command
    .requiredOption('-a, --traddr <address>', "the target's address", parseAddress)
    .option('-s, --trsvcid <port>', 'its port', integer(0, 65_535), 4420)
    .option('-q, --hostnqn <name>', 'name of this host (default: a random one)');
}

function diskOptions(command: Command): Command {
  return addHostSecretOptions(command)
    .requiredOption('-n, --nqn <name>', 'the subsystem')
    .option('-N, --namespace-id <id>', 'the namespace', integer(1, 0xff_ff_ff_fe), 1)
    .option('-i, --nr-io-queues <count>', 'I/O queues to ask for', integer(1, 64), 1)
    .option('-Q, --queue-size <entries>', 'entries of a queue', integer(16, 1024), 128)
    .option('-k, --keep-alive-tmo <seconds>', 'keep-alive timeout, 0 for none', integer(0, 3600), 5);
}

function rangeOptions(command: Command): Command {
  return diskOptions(addressOptions(command))
    .option('--start-block <lba>', 'first block', integer(0, Number.MAX_SAFE_INTEGER), 0)
    .option(
      '-c, --block-count <blocks>',
      'read: how many (default: up to the end)',
      integer(0, Number.MAX_SAFE_INTEGER),
    )
    .option('-d, --data <file>', 'the file');
}

function onDevice<Flags extends HostFlags>(
  command: Command,
  run: (device: RdmaDevice, flags: Flags, output: ToolOutput, signal: AbortSignal) => Promise<void>,
): Command {
  return addLinkOptions(command).action(async (flags: Flags & LinkFlags) => {
    exitWith(
      await withDevice(flags, async (device, signal) => {
        await run(device, flags, terminal, signal);
        return 0;
      }),
    );
  });
}

async function withDisk(
  device: RdmaDevice,
  flags: HostFlags,
  use: (disk: NvmeNamespace, controller: NvmeController) => Promise<void>,
): Promise<void> {
  const controller = await connectNvme(device, {
    ...addressOf(flags),
    ...hostSecrets(flags),
    subnqn: flags.nqn,
    queues: flags.nrIoQueues,
    queueSize: flags.queueSize,
    keepAliveMs: flags.keepAliveTmo * 1000,
  });
  try {
    await use(await controller.namespace(flags.namespaceId), controller);
  } finally {
    await controller.close();
  }
}

function addressOf({ traddr, trsvcid, hostnqn }: HostFlags): NvmeAddress {
  const id = randomUUID();
  return {
    address: traddr,
    port: trsvcid,
    hostnqn: hostnqn ?? `nqn.2014-08.org.nvmexpress:uuid:${id}`,
    hostid: Uint8Array.from(Buffer.from(id.replaceAll('-', ''), 'hex')),
    timers: {
      after(durationNs, then) {
        const timer = setTimeout(then, durationNs / 1e6);
        return () => clearTimeout(timer);
      },
    },
  };
}

function rate(bytes: number, beganMs: number): string {
  const seconds = (performance.now() - beganMs) / 1000;
  return ` in ${seconds.toFixed(2)} s, ${((bytes * 8) / seconds / 1e6).toFixed(0)} Mbit/s`;
}

const TRANSPORTS: Readonly<Record<number, string>> = { 1: 'rdma', 2: 'fc', 3: 'tcp', 254: 'loop' };
const SUBTYPES: Readonly<Record<number, string>> = {
  1: 'referral',
  2: 'nvme subsystem',
  3: 'current discovery subsystem',
};
