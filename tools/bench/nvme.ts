/**
 * A disk over NVMe beside bare verbs on the same link, between the same two processes: reads of 128 KiB beside RC
 * WRITEs of 1 MiB, reads of 4 KiB beside messages of 64 bytes, processor time and memory. Each read once more beside
 * its own three messages by bare verbs: the difference is what NVMe costs. And beside the network block device of QEMU,
 * which is C on TCP. Needs root, for a namespace of its own.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTool } from '../lab/tool.ts';
import { netnsAvailable } from '../netns.ts';
import { type Bench, type BenchRow, type BenchSettings, contest, type Goal, type SkippedBench } from './bench.ts';
import { PeerProcess } from './links/peer-process.ts';
import { type BenchPlace, makePlace } from './links/places.ts';
import { type Amount, DISK_READ_BYTES, type Figures, type RoceConfig } from './links/protocol.ts';
import { outputOf } from './program-output.ts';

const [SERVER, CLIENT] = ['fd98::1', 'fd98::2'] as const;
/** The host's I/O queues, as Linux would ask for on four processors. */
const DISK = { queues: 4, entries: 128 } as const;

export const nvmeReadBench = benchOf('nvme-read', 'reads of 128 KiB over NVMe', ({ client }, amount) => ({
  unit: 'bytes/s',
  peer: 'RC WRITE goodput of this link',
  goal: { sense: '>=', ratio: 0.8 },
  ours: async () => figureOf(await client.measureDisk('diskGoodput', amount), 'goodput'),
  theirs: async () => figureOf(await client.measure('goodput', amount), 'goodput'),
}));

export const nvmeRateBench = benchOf('nvme-rate', 'random reads of 4 KiB over NVMe', ({ client }, amount) => ({
  unit: 'reads/s',
  peer: 'message rate of this link',
  goal: { sense: '>=', ratio: 0.25 },
  ours: async () => figureOf(await client.measureDisk('diskRate', amount), 'rate'),
  theirs: async () => figureOf(await client.measure('rate', amount), 'rate'),
}));

export const nvmeLatencyBench = benchOf(
  'nvme-latency',
  'one read of 4 KiB over NVMe at a time, p50',
  ({ client }, amount) => ({
    unit: 'us',
    peer: 'round trip of 64 bytes',
    goal: { sense: '<=', ratio: 2.5 },
    ours: async () => figureOf(await client.measureDisk('diskRoundTrip', amount), 'p50'),
    theirs: async () => figureOf(await client.measure('roundTrip', amount), 'p50'),
  }),
);

const OWN_MESSAGES = 'SEND 64, WRITE, SEND 16 by bare verbs';

export const nvmeReadVerbsBench = benchOf(
  'nvme-read-verbs',
  'reads of 128 KiB over NVMe, beside their messages',
  ({ client }, amount) => ({
    unit: 'bytes/s',
    peer: OWN_MESSAGES,
    ours: async () => figureOf(await client.measureDisk('diskGoodput', amount), 'goodput'),
    theirs: async () => figureOf(await client.measureDisk('exchangeGoodput', amount), 'goodput'),
  }),
);

export const nvmeRateVerbsBench = benchOf(
  'nvme-rate-verbs',
  'random reads of 4 KiB over NVMe, beside their messages',
  ({ client }, amount) => ({
    unit: 'reads/s',
    peer: OWN_MESSAGES,
    ours: async () => figureOf(await client.measureDisk('diskRate', amount), 'rate'),
    theirs: async () => figureOf(await client.measureDisk('exchangeRate', amount), 'rate'),
  }),
);

export const nvmeRateFloorBench = benchOf(
  'nvme-rate-floor',
  'the messages of reads of 4 KiB by bare verbs: what NVMe could reach',
  ({ client }, amount) => ({
    unit: 'reads/s',
    peer: 'message rate of this link',
    ours: async () => figureOf(await client.measureDisk('exchangeRate', amount), 'rate'),
    theirs: async () => figureOf(await client.measure('rate', amount), 'rate'),
  }),
);

export const nvmeLatencyVerbsBench = benchOf(
  'nvme-latency-verbs',
  'one read of 4 KiB over NVMe at a time, p50, beside its messages',
  ({ client }, amount) => ({
    unit: 'us',
    peer: OWN_MESSAGES,
    ours: async () => figureOf(await client.measureDisk('diskRoundTrip', amount), 'p50'),
    theirs: async () => figureOf(await client.measureDisk('exchangeRoundTrip', amount), 'p50'),
  }),
);

export const nvmeCpuBench = benchOf(
  'nvme-cpu',
  'processor time of a read of 4 KiB over NVMe, both ends',
  (pair, amount) => ({
    unit: 'us',
    peer: 'of a message of 64 bytes',
    ours: () => cpuOf(pair, amount, async () => figureOf(await pair.client.measureDisk('diskRate', amount), 'rate')),
    theirs: () => cpuOf(pair, amount, async () => figureOf(await pair.client.measure('rate', amount), 'rate')),
  }),
);

export const nvmeNbdBench: Bench = {
  name: 'nvme-nbd',
  title: 'reads of 128 KiB over NVMe, beside nbd of QEMU',
  async run(settings) {
    const missing = ['qemu-nbd', 'qemu-img'].find((program) => findTool(program) === undefined);
    if (missing !== undefined) return { name: this.name, skipped: `${missing} is not there` };
    return onLoopback(this.name, settings, async (pair, amount) => {
      const nbd = await NbdServer.start(pair.place);
      try {
        return await contest(this.name, settings, {
          unit: 'bytes/s',
          peer: 'qemu-nbd and qemu-img bench, TCP',
          ours: async () => figureOf(await pair.client.measureDisk('diskGoodput', amount), 'goodput'),
          theirs: () => nbd.goodput(settings.scale < 1 ? NBD_READS_QUICK : NBD_READS),
        });
      } finally {
        nbd.stop();
      }
    });
  },
};

/** Memory of a controller at both ends, with nothing outstanding; beside what its queues may receive. */
export const nvmeMemoryBench: Bench = {
  name: 'nvme-memory',
  title: 'memory of a controller of 4 queues of 128 entries, at the target',
  async run(settings) {
    return onLoopback(
      this.name,
      settings,
      async ({ server, client }) => {
        const without = (await server.memory()).held;
        await client.connect();
        const used = (await server.memory()).held - without;
        return contest(this.name, settings, {
          unit: 'bytes',
          peer: 'capsules that it may receive',
          ours: () => used,
          theirs: () => (DISK.queues * DISK.entries + ADMIN_ENTRIES) * CAPSULE_BYTES,
        });
      },
      false,
    );
  },
};

const ADMIN_ENTRIES = 32;
/** A command, and 4 KiB of data in the capsule. */
const CAPSULE_BYTES = 64 + 4096;
const NBD_READS = 4000;
const NBD_READS_QUICK = 8;
const NBD_OUTSTANDING = 32;
/** As the disk of ours. */
const NBD_DISK_BYTES = 16 << 20;

interface DiskPair {
  readonly server: PeerProcess;
  readonly client: PeerProcess;
  readonly place: BenchPlace;
}

interface Sides {
  readonly unit: string;
  readonly peer: string;
  readonly goal?: Goal;
  ours(): Promise<number>;
  theirs(): Promise<number>;
}

function benchOf(name: string, title: string, sides: (pair: DiskPair, amount: Amount) => Sides): Bench {
  return {
    name,
    title,
    run: (settings) => onLoopback(name, settings, (pair, amount) => contest(name, settings, sides(pair, amount))),
  };
}

/** Two processes on udp-offload in a namespace; the server has a disk. */
async function onLoopback(
  name: string,
  { scale }: BenchSettings,
  run: (pair: DiskPair, amount: Amount) => Promise<BenchRow>,
  connected = true,
): Promise<BenchRow | SkippedBench> {
  const { ok, reason } = netnsAvailable();
  if (!ok) return { name, skipped: reason };
  const place = makePlace('loopback');
  const [server, client] = (['server', 'client'] as const).map(
    (role, i) => new PeerProcess(`${role} of ${name}`, place.prefixes[i] ?? []),
  ) as [PeerProcess, PeerProcess];
  try {
    const config = (role: 'server' | 'client', own: string, peer: string): RoceConfig => {
      return { kind: 'roce', role, link: `udp-offload:[${own}]`, peer, disk: DISK };
    };
    await server.open(config('server', SERVER, CLIENT));
    await client.open(config('client', CLIENT, SERVER));
    if (connected) await client.connect();
    return await run({ server, client, place }, scale < 1 ? { seconds: 0, least: 256 } : { seconds: 0.8, least: 256 });
  } finally {
    await client.close();
    await server.close();
    place.remove();
  }
}

/** Microseconds of processor that both ends take for one of what `rate` counts. */
async function cpuOf({ server, client }: DiskPair, { seconds }: Amount, rate: () => Promise<number>) {
  const spent = async (): Promise<{ cpuMs: number; wallMs: number }> => {
    const [a, b] = await Promise.all([server.counters(), client.counters()]);
    return { cpuMs: figureOf(a, 'cpuMs') + figureOf(b, 'cpuMs'), wallMs: figureOf(b, 'wallMs') };
  };
  const before = await spent();
  const perSecond = await rate();
  const after = await spent();
  const wallSeconds = Math.max(seconds, (after.wallMs - before.wallMs) / 1000);
  return ((after.cpuMs - before.cpuMs) * 1000) / (perSecond * wallSeconds);
}

function figureOf(figures: Figures, name: string): number {
  const value = figures[name];
  if (value === undefined) throw new Error(`a peer has measured no ${name}`);
  return value;
}

/** QEMU's server of a file that is in the page cache, in the place of a pair. */
class NbdServer {
  readonly #place: BenchPlace;
  readonly #directory = mkdtempSync(join(tmpdir(), 'roce-nbd-'));

  private constructor(place: BenchPlace) {
    this.#place = place;
    writeFileSync(join(this.#directory, 'disk'), randomBytes(NBD_DISK_BYTES));
  }

  /** Resolves when it takes connections: only then the process that was started ends. */
  static async start(place: BenchPlace): Promise<NbdServer> {
    const server = new NbdServer(place);
    const [program = '', ...words] = [...place.prefixes[0], 'qemu-nbd'];
    const options = ['--fork', `--pid-file=${server.#pidFile}`, '--format=raw', '--persistent', '--bind=::1'];
    await outputOf(program, [...words, ...options, join(server.#directory, 'disk')]);
    return server;
  }

  async goodput(reads: number): Promise<number> {
    const [program = '', ...words] = [...this.#place.prefixes[1], 'qemu-img', 'bench'];
    const options = ['-f', 'raw', '-c', `${reads}`, '-d', `${NBD_OUTSTANDING}`, '-s', `${DISK_READ_BYTES}`];
    const printed = await outputOf(program, [...words, ...options, 'nbd://[::1]']);
    const [, seconds] = /completed in ([\d.]+) seconds/.exec(printed) ?? [];
    if (seconds === undefined) throw new Error(`qemu-img bench printed no time: ${printed.trim()}`);
    return (reads * DISK_READ_BYTES) / Number(seconds);
  }

  stop(): void {
    process.kill(Number(readFileSync(this.#pidFile, 'utf8')));
    rmSync(this.#directory, { recursive: true, force: true });
  }

  get #pidFile(): string {
    return join(this.#directory, 'pid');
  }
}
