/**
 * A lab station: one rdma_rxe guest and one device of ours on a wire between them, with a capture of its own for every case.
 * Booting takes seconds, so a station serves many cases.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Device, type OpenDevice, openDevice } from '../../src/index.ts';
import { CaptureFile } from '../capture-file.ts';
import { Guest, type GuestJob, type RunResult } from '../lab/guest.ts';
import { buildImage } from '../lab/image.ts';
import type { KernelLabel } from '../lab/recipe.ts';

export const OUR_IPV4 = '10.77.0.1';
export const OUR_IPV6 = 'fd77::1';
export const GUEST_IPV4 = '10.77.0.2';
export const GUEST_IPV6 = 'fd77::2';
const OUR_MAC = '52:54:00:00:00:01';
const GUEST_MAC = '52:54:00:00:00:02';
/** What the network device must carry for each path MTU (ref:rxe#1). */
const NETDEV_MTU: Readonly<Record<PathMtu, number>> = { 1024: 1500, 4096: 4200 };

export const PATH_MTUS = [1024, 4096] as const;
export type PathMtu = (typeof PATH_MTUS)[number];

/** Bounds of one command in the guest: an emulated processor on a busy machine is slow. */
export const COMMAND_TIMEOUT_MS = 60_000;

interface StationParts {
  readonly kernel: KernelLabel;
  readonly mtu: PathMtu;
  readonly guest: Guest;
  readonly open: OpenDevice;
  readonly capture: SwitchedCapture;
  readonly directory: string;
}

export class Station {
  readonly kernel: KernelLabel;
  readonly mtu: PathMtu;
  readonly guest: Guest;
  readonly device: Device;
  readonly #open: OpenDevice;
  readonly #capture: SwitchedCapture;
  readonly #directory: string;

  private constructor(parts: StationParts) {
    this.kernel = parts.kernel;
    this.mtu = parts.mtu;
    this.guest = parts.guest;
    this.device = parts.open.device;
    this.#open = parts.open;
    this.#capture = parts.capture;
    this.#directory = parts.directory;
  }

  /** Builds the image if it is not cached, opens our end of the wire and boots the guest on the other. */
  static async open(kernel: KernelLabel, mtu: PathMtu, log: (line: string) => void): Promise<Station> {
    const image = await buildImage(kernel, { log });
    const directory = mkdtempSync(join(tmpdir(), 'roce-station-'));
    const path = join(directory, 'wire.sock');
    const capture = new SwitchedCapture();
    const open = await openDevice({
      link: `qemu:${path}`,
      addresses: [`${OUR_IPV4}/24`, `${OUR_IPV6}/64`],
      mac: OUR_MAC,
      mtu: NETDEV_MTU[mtu],
      captureSink: capture,
    });
    try {
      const addresses = [`${GUEST_IPV4}/24`, `${GUEST_IPV6}/64`];
      const guest = await Guest.boot({ image, netSocket: { path }, mac: GUEST_MAC, addresses, mtu: NETDEV_MTU[mtu] });
      return new Station({ kernel, mtu, guest, open, capture, directory });
    } catch (error) {
      await open.close();
      rmSync(directory, { recursive: true, force: true });
      throw error;
    }
  }

  /** Runs a command in the guest that must succeed. */
  async expect(command: string): Promise<RunResult> {
    const result = await this.guest.run(command, { timeoutMs: COMMAND_TIMEOUT_MS });
    if (result.code !== 0)
      throw new Error(`guest: ${command}: exit code ${result.code}\n${result.stdout}${result.stderr}`);
    return result;
  }

  /** Starts a server in the guest and waits until somebody listens on its port. */
  async serve(command: string, port: number): Promise<GuestJob> {
    const job = this.guest.spawn(command);
    await this.expect(
      `for i in $(seq 100); do rdma resource show cm_id | grep LISTEN | grep -q ':${port}' && exit 0; sleep 0.1; done; exit 1`,
    );
    return job;
  }

  /** Writes all frames of the wire to `path` until the returned function is called. */
  record(path: string): () => void {
    mkdirSync(dirname(path), { recursive: true });
    const file = new CaptureFile(path, { interfaceName: `qemu ${this.kernel}`, ethernet: true });
    this.#capture.current = file;
    return () => {
      this.#capture.current = undefined;
      file.close();
    };
  }

  async close(): Promise<void> {
    await this.guest.stop();
    await this.#open.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** A capture sink whose file changes from case to case. */
class SwitchedCapture {
  current: CaptureFile | undefined;

  frame(timeNs: number, direction: 'in' | 'out', bytes: Uint8Array, start: number, end: number): void {
    this.current?.frame(timeNs, direction, bytes, start, end);
  }
}
