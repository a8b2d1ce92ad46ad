/** A guest with rdma_rxe and a device of ours on one wire, for `npm run soak -- connects`. Owns both. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OpenDevice, openDevice } from 'rocev2';
import { Guest } from '../lab/guest.ts';
import { buildImage } from '../lab/image.ts';
import type { KernelLabel } from '../lab/recipe.ts';

export const OURS = '10.77.0.1';
export const THEIRS = '10.77.0.2';

export class GuestStage {
  readonly guest: Guest;
  readonly open: OpenDevice;
  readonly #directory: string;

  private constructor(directory: string, guest: Guest, open: OpenDevice) {
    this.#directory = directory;
    this.guest = guest;
    this.open = open;
  }

  static async make(kernel: KernelLabel): Promise<GuestStage> {
    const image = await buildImage(kernel);
    const directory = mkdtempSync(join(tmpdir(), 'roce-soak-'));
    const path = join(directory, 'wire');
    let open: OpenDevice | undefined;
    try {
      const addresses = [`${OURS}/24`];
      const opening = openDevice({ link: `qemu:${path}`, addresses, mac: '52:54:00:00:00:01' });
      const guest = await Guest.boot({ image, netSocket: { path }, addresses: [`${THEIRS}/24`] });
      open = await opening;
      return new GuestStage(directory, guest, open);
    } catch (error) {
      await open?.close();
      rmSync(directory, { recursive: true, force: true });
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.open.close();
    await this.guest.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
