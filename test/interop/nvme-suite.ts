/**
 * A stock Linux of a guest mounts a disk that our target serves: discovery, mkfs, files that are found again after a
 * remount, and what is left when it has gone. One guest, one target; the tests build on one another.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AnaState } from '../../src/ulp/nvme/index.ts';
import { SLOW_HOST_WARNINGS } from '../../tools/experiment/findings.ts';
import { verifyCapture } from '../../tools/interop/verify.ts';
import type { KernelLabel } from '../../tools/lab/recipe.ts';
import { describeWith, useWhereThere } from '../support/need.ts';
import { HOST, MountedLab, NQN, OURS, until } from './nvme-lab.ts';

/** Retransmission timers of rdma_rxe take half a second each. */
const SLOW_MS = 600_000;
/** Where the guest mounts it. */
const DISK = '/mnt';
const SUM = `sha256sum ${DISK}/a ${DISK}/b ${DISK}/c | cut -c1-64`;
/** Files of every kind: a program, `mebibytes` of noise, blocks that are no blocks. */
const writeFiles = (mebibytes: number): string =>
  [
    `cp /bin/dash ${DISK}/a`,
    `dd if=/dev/urandom of=${DISK}/b bs=1M count=${mebibytes} 2>/dev/null`,
    `dd if=/dev/urandom of=${DISK}/c bs=513 count=77 2>/dev/null`,
    'sync',
  ].join(' && ');

/** The short half: everything on a clean wire. `srq`: receives that all I/O queues share; 0: each has its own. */
export function testMount(kernel: KernelLabel, srq = 0): void {
  describeWith('lab', `a disk of ours in Linux ${kernel}${srq === 0 ? '' : `, with ${srq} shared receives`}`, () => {
    useWhereThere('tshark');
    const lab = new MountedLab();
    beforeAll(() => lab.start(kernel, { srq }));
    afterAll(() => lab.stop());
    const allReceivesAreThere = () => expect.poll(() => lab.targets[0]?.sharedReceives ?? 0).toBe(srq);
    let sums = '';

    it('is discovered', async () => {
      const log = await lab.run(`nvme discover -t rdma -a ${OURS} -s 4420 ${HOST}`);
      expect(log).toContain(`subnqn:  ${NQN}`);
      expect(log).toContain(`traddr:  ${OURS}`);
    });

    it('is connected, and tells of itself', async () => {
      await lab.run(`nvme connect -t rdma -a ${OURS} -s 4420 -n ${NQN} -i 2 ${HOST}`);
      await lab.run(until('/dev/nvme0n1'));
      // Of two that are asked for: the guest has one processor.
      expect(lab.targets[0]?.queues.map(({ qid }) => qid)).toEqual([0, 1]);
      expect(await lab.run('nvme id-ctrl /dev/nvme0')).toContain('rocev2');
      expect(await lab.run('nvme id-ns /dev/nvme0n1')).toMatch(/nsze\s*: 0x20000/);
      expect(await lab.run('nvme smart-log /dev/nvme0')).toContain('available_spare');
      expect(await lab.run('nvme error-log /dev/nvme0')).toContain('Entry');
    });

    it('takes a file system and files, and has them after a remount', async () => {
      await lab.run('mke2fs -q -t ext4 /dev/nvme0n1 && mount -t ext4 /dev/nvme0n1 /mnt');
      await lab.run(writeFiles(1));
      sums = await lab.run(SUM);
      await lab.run('umount /mnt && echo 3 > /proc/sys/vm/drop_caches && mount -t ext4 /dev/nvme0n1 /mnt');
      expect(await lab.run(SUM)).toBe(sums);
      // mke2fs has discarded the whole disk.
      expect(await lab.run('dmesg | grep "I/O [Ee]rror" || true')).toBe('');
    });

    it('has them after a disconnect, and the file system is clean', async () => {
      await lab.run(`umount /mnt && nvme disconnect -n ${NQN}`);
      expect(lab.targets[0]?.controllers).toEqual([]);
      await allReceivesAreThere();
      await lab.run(`nvme connect -t rdma -a ${OURS} -s 4420 -n ${NQN} ${HOST}`);
      await lab.run(until('/dev/nvme0n1'));
      await lab.run('e2fsck -fn /dev/nvme0n1 && mount -t ext4 /dev/nvme0n1 /mnt');
      expect(await lab.run(SUM)).toBe(sums);
      await lab.run(`umount /mnt && nvme disconnect -n ${NQN}`);
    });

    it('leaves a capture without fault', async () => {
      lab.endCapture();
      const { faults } = await verifyCapture(lab.capture, { findings: [], tolerated: SLOW_HOST_WARNINGS });
      expect(faults).toEqual([]);
    });

    it('has its bytes after a wire that loses, damages and reorders frames', async () => {
      await lab.run(`nvme connect -t rdma -a ${OURS} -s 4420 -n ${NQN} -c 1 ${HOST}`);
      await lab.run(until('/dev/nvme0n1'));
      await lab.both({ loss: 0.01, corrupt: 0.005, reorder: 0.002, reorderDelayNs: 1_000_000 });
      const write = 'dd if=/dev/urandom of=/tmp/noise bs=64k count=8 2>/dev/null && dd if=/tmp/noise';
      await lab.run(`${write} of=/dev/nvme0n1 bs=64k oflag=direct 2>/dev/null`, SLOW_MS);
      await lab.run('echo 3 > /proc/sys/vm/drop_caches; head -c 524288 /dev/nvme0n1 | cmp - /tmp/noise', SLOW_MS);
      const account = await lab.wire({});
      const dropped = Object.values(account?.directions ?? {}).map((direction) => direction.dropped);
      expect(Math.min(...dropped)).toBeGreaterThan(0);
      await lab.run(`nvme disconnect -n ${NQN}`);
      await allReceivesAreThere();
    });
  });
}

/** A host of Linux without keep-alive: silent, and then gone. */
export function testVanished(kernel: KernelLabel): void {
  describeWith('lab', `Linux ${kernel} with a keep-alive timeout of 0`, () => {
    const lab = new MountedLab();
    beforeAll(() => lab.start(kernel, { probeMs: 500 }));
    afterAll(() => lab.stop());
    const controllers = (): number | undefined => lab.targets[0]?.controllers.length;

    it('keeps its controller while it is silent, is missed when it is cut off, and comes back', async () => {
      await lab.run(`nvme connect -t rdma -a ${OURS} -s 4420 -n ${NQN} -i 1 -c 1 ${HOST}`);
      await lab.run(until('/dev/nvme0n1'));
      // Connect has the default for a timeout of 0.
      await lab.run('nvme set-feature /dev/nvme0 -f 0x0f --value=0');
      expect(lab.targets[0]?.controllers.map(({ kato }) => kato)).toEqual([0]);
      await lab.run('sleep 5; [ "$(cat /sys/class/nvme/nvme0/state)" = live ]');
      expect([controllers(), lab.targets[0]?.counters.queues]).toEqual([1, 2]);
      await lab.both({ loss: 1 });
      await expect.poll(controllers, { timeout: SLOW_MS }).toBe(0);
      await lab.wire({});
      await lab.run('dd if=/dev/nvme0n1 of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null', SLOW_MS);
      expect(controllers()).toBe(1);
      await lab.run(`nvme disconnect -n ${NQN}`);
    });
  });
}

/** The long half: two paths. */
export function testTwoPaths(kernel: KernelLabel): void {
  describeWith('lab', `a disk of ours in Linux ${kernel}, on two paths`, () => {
    const lab = new MountedLab({ ana: true });
    const [first, second] = [4420, 4421];
    beforeAll(async () => {
      await lab.start(kernel, { ports: [first, second] });
      await lab.run(`nvme connect -t rdma -a ${OURS} -s ${first} -n ${NQN} -i 2 ${HOST}`);
      await lab.run(until('/dev/nvme0n1'));
      await lab.run('mke2fs -q -t ext4 /dev/nvme0n1 && mount -t ext4 /dev/nvme0n1 /mnt');
    });
    afterAll(() => lab.stop());

    async function writtenAndFoundAgain(during: () => Promise<void>): Promise<void> {
      const writing = lab.run(writeFiles(8), 600_000);
      await during();
      await writing;
      const sums = await lab.run(SUM);
      await lab.run('umount /mnt && echo 3 > /proc/sys/vm/drop_caches && mount -t ext4 /dev/nvme0n1 /mnt');
      expect(await lab.run(SUM)).toBe(sums);
    }

    it('moves to the other path when the first is inaccessible', async () => {
      await lab.run(`dmesg -c > /dev/null; nvme connect -t rdma -a ${OURS} -s ${second} -n ${NQN} -i 2 ${HOST}`);
      const written = (port: number): number =>
        (lab.targets[port]?.controllers ?? []).reduce((sum, { io }) => sum + io.bytesWritten, 0);
      await writtenAndFoundAgain(async () => lab.subsystem.setAnaState(1, AnaState.Inaccessible));
      expect(written(1)).toBeGreaterThan(0);
      const before = written(0);
      await writtenAndFoundAgain(async () => {});
      expect(written(0)).toBe(before);
      expect(await lab.run('dmesg | grep -i "i/o error" || true')).toBe('');
    });
  });
}
