/**
 * `npm run soak`: what has to stay right and flat for long.
 *
 *   npm run soak -- days                    30 virtual days of mixed traffic, everything that is numbered wraps
 *   npm run soak -- connects                10,000 connections with rdma_rxe in a guest, both directions
 *   npm run soak -- queue-pairs             10,000 connections alive at the same time, all with traffic
 *
 * Full load on a real link is `npm run bench -- --soak SECONDS`. `--json` prints the figures alone.
 * Exit codes: 0 everything holds, 1 something does not, 2 the command line is invalid.
 */
import { Command } from 'commander';
import { KERNELS, type KernelLabel } from '../lab/recipe.ts';
import { integer } from '../options.ts';
import { terminal } from '../output.ts';
import { soakConnects } from './connects.ts';
import { soakDays } from './days.ts';
import { GuestStage, OURS, THEIRS } from './guest-stage.ts';
import { type Growth, isFlat } from './memory.ts';
import { soakQueuePairs } from './queue-pairs.ts';

const EXIT_FAULT = 1;
const EXIT_USAGE = 2;
/** 2^24 packets of 256 bytes in 30 days of 20-minute rounds need 7,768 packets a round. */
const BULK_BYTES = 0x20_00_00;

interface CommonFlags {
  readonly json?: boolean;
  readonly seed: number;
}

/** What every soak returns. */
interface Figures {
  readonly faults: readonly string[];
  readonly growth?: Growth;
}

const program = new Command('soak').description(
  'what has to stay right and flat for long; npm run bench -- --soak loads a real link',
);
program
  .command('days')
  .description('virtual days of mixed traffic; TIMEWAIT and idle times cost nothing')
  .option('--days <count>', 'virtual days', integer(1, 3650), 30)
  .option('--round-minutes <count>', 'virtual minutes from round to round', integer(5, 1440), 20)
  .option(
    '--bulk-bytes <count>',
    'carried in each round by the connection that lives',
    integer(256, 2 ** 26),
    BULK_BYTES,
  )
  .option('--seed <number>', 'seed of the world', integer(0, 2 ** 31), 1)
  .option('--json', 'the figures alone')
  .action(({ json, ...options }: CommonFlags & { days: number; roundMinutes: number; bulkBytes: number }) =>
    soak(json, (say) => soakDays({ ...options, points: 10, say })),
  );
program
  .command('connects')
  .description('connections with rdma_rxe in a guest, made and ended in both directions; needs qemu')
  .option('--cycles <count>', 'connections in all', integer(2, 1_000_000), 10_000)
  .option('--batch <count>', 'connections open at the same time', integer(1, 1000), 100)
  .option('--kernel <generation>', `one of ${KERNELS.join(', ')}`, '6.12')
  .option('--json', 'the figures alone')
  .action(({ json, cycles, batch, kernel }: CommonFlags & { cycles: number; batch: number; kernel: KernelLabel }) =>
    soak(json, async (say) => {
      const stage = await GuestStage.make(kernel);
      const ends = { device: stage.open.device, guest: stage.guest, ours: OURS, theirs: THEIRS };
      try {
        return await soakConnects({ ...ends, cycles, batch, say });
      } finally {
        await stage.close();
      }
    }),
  );
program
  .command('queue-pairs')
  .description('connections alive at the same time, each with traffic both ways')
  .option('--count <count>', 'connections: two queue pairs each', integer(1, 60_000), 10_000)
  .option('--rounds <count>', 'messages of each queue pair', integer(1, 100_000), 20)
  .option('--seed <number>', 'seed of the world', integer(0, 2 ** 31), 1)
  .option('--json', 'the figures alone')
  .action(({ json, ...options }: CommonFlags & { count: number; rounds: number }) =>
    soak(json, (say) => soakQueuePairs({ ...options, say })),
  );
for (const command of [program, ...program.commands])
  command.exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_USAGE));
await program.parseAsync();

/** Runs, prints the figures and sets the exit code. */
async function soak(json: boolean | undefined, work: (say: (line: string) => void) => Promise<Figures>): Promise<void> {
  const began = performance.now();
  const figures = await work(terminal.complaint);
  const flat = figures.growth === undefined || isFlat(figures.growth);
  const verdict = { ...figures, flat, tookSeconds: Math.round((performance.now() - began) / 1000) };
  terminal.line(JSON.stringify(verdict, null, json === true ? 0 : 2));
  if (!flat || figures.faults.length > 0) process.exitCode = EXIT_FAULT;
}
