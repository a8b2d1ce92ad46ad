/**
 * A guest, our device, and a bump on the wire between them: what the tests of NVMe against a stock kernel need. Booted
 * once, the wire is made bad and good again as often as a test likes. Our device serves a disk in a file; the guest can
 * serve one as well, by nvmet-rdma.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { WireFaults } from '../../src/faults/index.ts';
import { Medium, type OpenDevice, openDevice } from '../../src/index.ts';
import { QemuLink } from '../../src/node/links/qemu.ts';
import { FileBackend } from '../../src/node/nvme/file-backend.ts';
import { NvmeSubsystem, NvmeTarget, type SubsystemOptions, type TargetOptions } from '../../src/ulp/nvme/index.ts';
import type { BumpAccount } from '../../tools/bump/account.ts';
import { type RunningBump, runBump } from '../../tools/bump/run.ts';
import { CaptureFile } from '../../tools/capture-file.ts';
import { Guest } from '../../tools/lab/guest.ts';
import { buildImage } from '../../tools/lab/image.ts';
import type { KernelLabel, Userland } from '../../tools/lab/recipe.ts';
import { systemTimers } from '../../tools/nvme/serve.ts';
import { StandingLink } from './standing-link.ts';

export const OURS = '10.77.0.1';
export const GUEST = '10.77.0.2';
export const NQN = 'nqn.2026-11.example:disks';
const DISK_BYTES = 64 << 20;
const COMMAND_TIMEOUT_MS = 120_000;
/** Other guests may boot at the same time. */
const BOOT_TIMEOUT_MS = 400_000;
/** Both: since 6.6 the kernel refuses a name that comes with an identifier of another, its own. */
export const HOST =
  '--hostnqn nqn.2014-08.org.nvmexpress:uuid:4f1c0b9e-0d5e-4d5b-9a52-6f5a4d3c2b1a --hostid 4f1c0b9e-0d5e-4d5b-9a52-6f5a4d3c2b1a';

export interface LabOptions extends Partial<TargetOptions> {
  /** A target for each [4420]. */
  readonly ports?: readonly number[];
  readonly userland?: Userland;
}

/** A target of one file disk and a guest on the same wire. */
export class MountedLab {
  readonly #directory = mkdtempSync(join(tmpdir(), 'rocev2-nvme-'));
  readonly subsystem: NvmeSubsystem;
  opened: OpenDevice | undefined;
  guest: Guest | undefined;
  targets: NvmeTarget[] = [];
  backend: FileBackend | undefined;
  readonly #links: readonly StandingLink[];
  #bump: RunningBump | undefined;
  #file: CaptureFile | undefined;
  /** What a capture needs to know of our link. */
  #place: { readonly interfaceName: string; readonly ethernet: boolean } | undefined;
  #bumps = 0;
  #captures = 0;

  constructor(options: Partial<SubsystemOptions> = {}) {
    this.subsystem = new NvmeSubsystem({ nqn: NQN, ...options });
    this.#links = ['ours', 'guest'].map((name) => new StandingLink(new QemuLink({ path: this.#path(name) })));
  }

  get capture(): string {
    return this.#path('wire.pcapng');
  }

  get disk(): string {
    return this.#path('disk.img');
  }

  async start(kernel: KernelLabel, { ports = [4420], userland = 'programs', ...options }: LabOptions = {}) {
    await this.wire({});
    this.opened = await openDevice({
      link: `qemu:${this.#path('ours')},connect`,
      addresses: [`${OURS}/24`],
      captureSink: ({ name, medium }) => {
        this.#place = { interfaceName: name, ethernet: medium === Medium.Ethernet };
        this.#file = new CaptureFile(this.capture, this.#place);
        // Asked for each time: the capture may end before the device does.
        return { frame: (...frame) => this.#file?.frame(...frame) };
      },
    });
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
    const image = await buildImage(kernel, { userland });
    const netSocket = { path: this.#path('guest') };
    this.guest = await Guest.boot({
      image,
      netSocket,
      addresses: [`${GUEST}/24`],
      memoryMiB: 768,
      bootTimeoutMs: BOOT_TIMEOUT_MS,
    });
    await this.run('modprobe -a nvme-rdma ext4; modprobe crc32c_generic; mkdir -p /mnt');
  }

  /** From now on the wire does this to frames, both ways. What the one before has done; undefined for the first. */
  async wire(faults: WireFaults): Promise<BumpAccount | undefined> {
    const account = await this.#bump?.stop();
    const [a, b] = this.#links;
    if (a === undefined || b === undefined) throw new Error('a wire has two ends');
    // A capture of the bad wire, with a comment at each frame that was touched, for whoever wants to look.
    const directory = process.env['ROCE_NVME_CAPTURES'];
    const capturePath = directory === undefined ? {} : { capturePath: join(directory, `bump-${++this.#bumps}.pcapng`) };
    this.#bump = await runBump({ a, b, faults, ...capturePath });
    return account;
  }

  /** The same in both directions. */
  both(spec: NonNullable<WireFaults['aToB']>): Promise<BumpAccount | undefined> {
    return this.wire({ aToB: spec, bToA: spec });
  }

  /** Nothing passes for so many seconds of the guest. */
  async cut(seconds: number): Promise<void> {
    await this.both({ loss: 1 });
    await this.run(`sleep ${seconds}`);
    await this.wire({});
  }

  /** What the guest prints; fails when the command does. */
  async run(command: string, timeoutMs = COMMAND_TIMEOUT_MS): Promise<string> {
    if (this.guest === undefined) throw new Error('there is no guest');
    const { code, stdout, stderr } = await this.guest.run(command, { timeoutMs });
    expect(code, `${command}\n${stdout}${stderr}`).toBe(0);
    return stdout;
  }

  /** The capture ends here; the wire stays. */
  endCapture(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  /** From here on what our device sends and receives goes into a file of its own, whose path this is. */
  newCapture(): string {
    this.endCapture();
    if (this.#place === undefined) throw new Error('there is no device');
    const path = this.#path(`wire-${++this.#captures}.pcapng`);
    this.#file = new CaptureFile(path, this.#place);
    return path;
  }

  async stop(): Promise<void> {
    await Promise.all(this.targets.map((target) => target.close()));
    await this.opened?.close();
    this.endCapture();
    await this.backend?.close();
    await this.guest?.stop();
    await this.#bump?.stop();
    await Promise.all(this.#links.map((link) => link.unplug()));
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }
}

/** Waits in the guest until a path is there. */
export const until = (path: string): string =>
  `for i in $(seq 100); do [ -e ${path} ] && break; sleep 0.1; done; [ -e ${path} ]`;
