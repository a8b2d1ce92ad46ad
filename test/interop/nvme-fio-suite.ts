/**
 * fio in a guest on a disk that we serve: it writes what it can check, at random, deep, in blocks of all sizes, and
 * reads it again. On a good wire, with trims, through cuts of the wire, and while the paths change.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AnaState } from '../../src/ulp/nvme/index.ts';
import type { KernelLabel } from '../../tools/lab/recipe.ts';
import { describeWith } from '../support/need.ts';
import { HOST, MountedLab, NQN, OURS, until } from './nvme-lab.ts';

const [FIRST, SECOND] = [4420, 4421] as const;
const SLOW_MS = 900_000;
const DISK_ERROR = /I\/O error, dev nvme0n1|Buffer I\/O error/;

/** What fio is told beside the pattern; its data carries a checksum that it verifies. */
const fio = (pattern: string): string =>
  `fio --name=v --filename=/dev/nvme0n1 --direct=1 --ioengine=libaio --thread --verify=crc32c --verify_fatal=1 --output-format=json ${pattern}`;

interface FioReport {
  readonly jobs: readonly {
    readonly error: number;
    readonly read: { readonly total_ios: number; readonly io_bytes: number };
    readonly write: { readonly total_ios: number; readonly io_bytes: number };
    readonly trim: { readonly total_ios: number };
  }[];
}

/** The tests; each writes `mebibytes`. */
export function testFio(kernel: KernelLabel, mebibytes: number): void {
  describeWith('lab', `fio on a disk of ours in Linux ${kernel}`, () => {
    const lab = new MountedLab({ ana: true });
    const written = (port: number): number =>
      (lab.targets[port]?.controllers ?? []).reduce((sum, { io }) => sum + io.bytesWritten, 0);

    beforeAll(async () => {
      await lab.start(kernel, { ports: [FIRST, SECOND], userland: 'middleware' });
      for (const port of [FIRST, SECOND])
        await lab.run(`nvme connect -t rdma -a ${OURS} -s ${port} -n ${NQN} -i 2 -c 1 ${HOST}`);
      await lab.run(until('/dev/nvme0n1'));
    });
    afterAll(() => lab.stop());

    async function verified(pattern: string): Promise<FioReport['jobs'][number]> {
      await lab.run('dmesg -c > /dev/null');
      const output = await lab.run(fio(pattern), SLOW_MS);
      const [job] = (JSON.parse(output.slice(output.indexOf('{'))) as FioReport).jobs;
      if (job === undefined) throw new Error('fio had no job');
      expect(job.error).toBe(0);
      const said = await lab.run('dmesg');
      expect(DISK_ERROR.test(said), said).toBe(false);
      if (process.env['ROCE_NVME_FIGURES'] !== undefined)
        process.stderr.write(
          `fio ${pattern}: ${job.write.total_ios} writes of ${job.write.io_bytes} bytes, ` +
            `${job.read.total_ios} reads of ${job.read.io_bytes}, ${job.trim.total_ios} trims, ` +
            `${said.match(/Successfully reconnected/g)?.length ?? 0} reconnects\n`,
        );
      return job;
    }

    const all = `--rw=randwrite --bsrange=512-1m --iodepth=32 --size=${mebibytes}m`;

    it('verifies random writes of 512 bytes to 1 MiB, 32 at a time', async () => {
      const job = await verified(all);
      expect(job.write.io_bytes).toBe(mebibytes << 20);
      expect(job.read.io_bytes).toBe(mebibytes << 20);
    });

    it('verifies reads and writes that are mixed', async () => {
      const job = await verified(`--rw=randrw --rwmixread=50 --bsrange=512-1m --iodepth=32 --size=${mebibytes}m`);
      expect(job.write.total_ios).toBeGreaterThan(0);
      expect(job.read.total_ios).toBeGreaterThan(job.write.total_ios);
    });

    it('verifies small blocks', async () => {
      const job = await verified('--rw=randwrite --bs=512 --iodepth=32 --size=512k');
      expect(job.write.total_ios).toBe(1024);
    });

    it('verifies writes behind trims, and what was trimmed reads as zeros', async () => {
      const job = await verified(`--rw=randtrimwrite --bs=64k --iodepth=32 --size=${mebibytes}m`);
      expect(job.trim.total_ios).toBe(mebibytes * 16);
      await lab.run('nvme dsm /dev/nvme0n1 -n 1 -d 1 -s 0 -b 256 && echo 3 > /proc/sys/vm/drop_caches');
      const trimmed = await lab.run('dd if=/dev/nvme0n1 bs=512 count=256 2>/dev/null | tr -d "\\0" | wc -c');
      expect(trimmed.trim()).toBe('0');
    });

    it.each([5, 40])('verifies what it wrote while the wire was cut for %d seconds', async (seconds) => {
      const job = verified(`${all} --verify_backlog=64`);
      await lab.run('while ! grep -q "nvme0n1 [1-9]" /proc/diskstats; do sleep 0.1; done');
      await lab.cut(seconds);
      expect((await job).write.io_bytes).toBe(mebibytes << 20);
    });

    it('sees no error when its path becomes inaccessible, and again when it comes back', async () => {
      const other = written(1);
      const job = verified(all);
      await lab.run('sleep 1');
      lab.subsystem.setAnaState(1, AnaState.Inaccessible);
      await job;
      expect(written(1)).toBeGreaterThan(other);
      const before = written(0);
      await verified(all);
      expect(written(0)).toBe(before);
      lab.subsystem.setAnaState(1, AnaState.Optimized);
      lab.subsystem.setAnaState(2, AnaState.Inaccessible);
      await verified(all);
      expect(written(0)).toBeGreaterThan(before);
      lab.subsystem.setAnaState(2, AnaState.Optimized);
    });

    it('is told of itself by nvme-cli', async () => {
      expect(await lab.run('nvme id-ctrl /dev/nvme0')).toMatch(/cmic\s*: 0xb/);
      expect(await lab.run('nvme id-ns /dev/nvme0n1')).toMatch(/nsze\s*: 0x20000/);
      expect(await lab.run('nvme smart-log /dev/nvme0')).toMatch(/critical_warning\s*: 0/);
      expect(await lab.run('nvme get-log /dev/nvme0 -i 2 -l 512')).toContain('log-id:2');
      expect(await lab.run('nvme ana-log /dev/nvme0')).toMatch(/grpid\s*:\s*1/);
      expect(await lab.run('nvme list-subsys')).toContain(NQN);
    });
  });
}
