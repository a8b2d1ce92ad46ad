/**
 * A stock Linux of a guest mounts a disk that our target serves: discovery, mkfs, files that are found again after a
 * remount, and what is left when it has gone. One guest, one target; the tests build on one another.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Medium, type OpenDevice, openDevice } from '../../src/index.ts';
import { FileBackend } from '../../src/node/nvme/file-backend.ts';
import {
  AnaState,
  NvmeSubsystem,
  NvmeTarget,
  type SubsystemOptions,
  type TargetOptions,
} from '../../src/ulp/nvme/index.ts';
import { CaptureFile } from '../../tools/capture-file.ts';
import { SLOW_HOST_WARNINGS } from '../../tools/experiment/findings.ts';
import { verifyCapture } from '../../tools/interop/verify.ts';
import { Guest } from '../../tools/lab/guest.ts';
import { buildImage } from '../../tools/lab/image.ts';
import type { KernelLabel } from '../../tools/lab/recipe.ts';
import { systemTimers } from '../../tools/nvme/serve.ts';
import { describeWith, useWhereThere } from '../support/need.ts';

export const OURS = '10.77.0.1';
export const GUEST = '10.77.0.2';
export const NQN = 'nqn.2026-11.example:disks';
const DISK_BYTES = 64 << 20;
const COMMAND_TIMEOUT_MS = 120_000;
/** Both: since 6.6 the kernel refuses a name that comes with an identifier of another, its own. */
export const HOST =
  '--hostnqn nqn.2014-08.org.nvmexpress:uuid:4f1c0b9e-0d5e-4d5b-9a52-6f5a4d3c2b1a --hostid 4f1c0b9e-0d5e-4d5b-9a52-6f5a4d3c2b1a';

/** A target of one file disk and a guest on the same wire. */
export class MountedLab {
  readonly #directory = mkdtempSync(join(tmpdir(), 'rocev2-nvme-'));
  readonly subsystem: NvmeSubsystem;
  opened: OpenDevice | undefined;
  guest: Guest | undefined;
  targets: NvmeTarget[] = [];
  backend: FileBackend | undefined;
  /** Everything that we send and receive is lost. */
  cut = false;
  /** One frame of so many is lost, each way; 0 for none. */
  loss = 0;
  #frames = 0;
  #file: CaptureFile | undefined;

  constructor(options: Partial<SubsystemOptions> = {}) {
    this.subsystem = new NvmeSubsystem({ nqn: NQN, ...options });
  }

  get capture(): string {
    return join(this.#directory, 'wire.pcapng');
  }

  get disk(): string {
    return join(this.#directory, 'disk.img');
  }

  /** A target for each port. */
  async start(kernel: KernelLabel, ports: readonly number[] = [4420], options: Partial<TargetOptions> = {}) {
    const path = join(this.#directory, 'wire');
    this.opened = await openDevice({
      link: `qemu:${path}`,
      addresses: [`${OURS}/24`],
      captureSink: ({ name, medium }) => {
        this.#file = new CaptureFile(this.capture, { interfaceName: name, ethernet: medium === Medium.Ethernet });
        return this.#file;
      },
    });
    const { link } = this.opened;
    const send = link.send.bind(link);
    link.send = (batch, from) => {
      const lost = this.cut || (this.loss > 0 && ++this.#frames % this.loss === 0);
      return lost ? batch.count - from : send(batch, from);
    };
    this.backend = await FileBackend.open(this.disk, { bytes: DISK_BYTES });
    this.subsystem.addNamespace({ backend: this.backend, uuid: new Uint8Array(16).fill(0x42) });
    const { device } = this.opened;
    this.targets = ports.map((port, i) =>
      NvmeTarget.listen(device, {
        subsystems: [this.subsystem],
        timers: systemTimers,
        port,
        portId: i + 1,
        ...options,
      }),
    );
    const image = await buildImage(kernel);
    this.guest = await Guest.boot({ image, netSocket: { path }, addresses: [`${GUEST}/24`] });
    await this.run('modprobe -a nvme-rdma ext4; modprobe crc32c_generic; mkdir -p /mnt');
  }

  /** What the guest prints; fails when the command does. */
  async run(command: string, timeoutMs = COMMAND_TIMEOUT_MS): Promise<string> {
    if (this.guest === undefined) throw new Error('there is no guest');
    const { code, stdout, stderr } = await this.guest.run(command, { timeoutMs });
    expect(code, `${command}\n${stdout}${stderr}`).toBe(0);
    return stdout;
  }

  async closeWire(): Promise<void> {
    await Promise.all(this.targets.map((target) => target.close()));
    await this.opened?.close();
    this.#file?.close();
    this.#file = undefined;
    await this.backend?.close();
    this.backend = undefined;
  }

  async stop(): Promise<void> {
    await this.closeWire();
    await this.guest?.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** Waits in the guest until a path is there. */
export const until = (path: string): string =>
  `for i in $(seq 100); do [ -e ${path} ] && break; sleep 0.1; done; [ -e ${path} ]`;
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

/** The short half: everything on a clean wire. */
export function testMount(kernel: KernelLabel): void {
  describeWith('lab', `a disk of ours in Linux ${kernel}`, () => {
    useWhereThere('tshark');
    const lab = new MountedLab();
    beforeAll(() => lab.start(kernel));
    afterAll(() => lab.stop());
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
      await lab.run(`nvme connect -t rdma -a ${OURS} -s 4420 -n ${NQN} ${HOST}`);
      await lab.run(until('/dev/nvme0n1'));
      await lab.run('e2fsck -fn /dev/nvme0n1 && mount -t ext4 /dev/nvme0n1 /mnt');
      expect(await lab.run(SUM)).toBe(sums);
      await lab.run(`umount /mnt && nvme disconnect -n ${NQN}`);
    });

    it('leaves a capture without fault', async () => {
      await lab.closeWire();
      const { faults } = await verifyCapture(lab.capture, { findings: [], tolerated: SLOW_HOST_WARNINGS });
      expect(faults).toEqual([]);
    });
  });
}

/** The long half: a bad wire, cuts, two paths. */
export function testHardships(kernel: KernelLabel): void {
  describeWith('lab', `a disk of ours in Linux ${kernel}, on bad days`, () => {
    const lab = new MountedLab({ ana: true });
    const [first, second] = [4420, 4421];
    beforeAll(async () => {
      await lab.start(kernel, [first, second]);
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

    it('keeps its bytes when one frame of a hundred is lost', async () => {
      lab.loss = 100;
      try {
        await writtenAndFoundAgain(async () => {});
      } finally {
        lab.loss = 0;
      }
    });

    it.each([5, 40])('keeps its bytes when the wire is cut for %d seconds', async (seconds) => {
      await writtenAndFoundAgain(async () => {
        lab.cut = true;
        await lab.run(`sleep ${seconds}`);
        lab.cut = false;
      });
    });

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
