/**
 * Our host of NVMe against nvmet-rdma of a guest's kernel: discovery, data in both directions, a lossy wire, a wire
 * that is cut for five seconds. What is on the guest's disk is looked at in the guest.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type OpenDevice, openDevice } from '../../src/node/open.ts';
import { connectNvme, discoverNvme, type NvmeAddress, type NvmeController } from '../../src/ulp/nvme/host/index.ts';
import { Guest } from '../../tools/lab/guest.ts';
import { buildImage } from '../../tools/lab/image.ts';
import type { KernelLabel } from '../../tools/lab/recipe.ts';
import { describeWith } from '../support/need.ts';

const GUEST = '10.77.0.2';
const OURS = '10.77.0.1';
const NQN = 'nqn.2026-11.example:ram';
/** One of so many: a batch has a few frames. */
const LOSS_OF_BATCHES = 40;
const CUT_NS = 5_000_000_000;

/** A target of the kernel with a disk in memory, and whether any host may connect; its folder is the current one. */
export function nvmetCommands(nqn: string, anyHost: boolean): string[] {
  return [
    'modprobe -a nvmet-rdma brd',
    'mkdir -p /sys/kernel/config',
    '{ grep -q configfs /proc/mounts || mount -t configfs none /sys/kernel/config; }',
    'cd /sys/kernel/config/nvmet',
    `mkdir subsystems/${nqn}`,
    `echo ${anyHost ? 1 : 0} > subsystems/${nqn}/attr_allow_any_host`,
    `mkdir subsystems/${nqn}/namespaces/1`,
    `echo -n /dev/ram0 > subsystems/${nqn}/namespaces/1/device_path`,
    `echo 1 > subsystems/${nqn}/namespaces/1/enable`,
    'mkdir ports/1',
    'echo rdma > ports/1/addr_trtype',
    'echo ipv4 > ports/1/addr_adrfam',
    `echo ${GUEST} > ports/1/addr_traddr`,
    'echo 4420 > ports/1/addr_trsvcid',
    `ln -s /sys/kernel/config/nvmet/subsystems/${nqn} ports/1/subsystems/${nqn}`,
  ];
}

/** The tests, for the guest of one kernel. */
export function testHostAgainst(kernel: KernelLabel): void {
  describeWith('lab', `our NVMe host and nvmet-rdma of ${kernel}`, () => {
    let directory = '';
    let guest: Guest;
    let opened: OpenDevice;
    /** Whether the wire loses everything now. */
    let cut = false;
    let lossy = false;
    let controller: NvmeController | undefined;

    const address: NvmeAddress = {
      address: GUEST,
      hostnqn: 'nqn.2014-08.org.nvmexpress:uuid:4f1c0b9e-0d5e-4d5b-9a52-6f5a4d3c2b1a',
      hostid: new Uint8Array(16).fill(7),
      timers: {
        after(durationNs, then) {
          const timer = setTimeout(then, durationNs / 1e6);
          return () => clearTimeout(timer);
        },
      },
    };

    beforeAll(async () => {
      const image = await buildImage(kernel);
      directory = mkdtempSync(join(tmpdir(), 'rocev2-nvme-'));
      const path = join(directory, 'wire');
      opened = await openDevice({ link: `qemu:${path}`, addresses: [`${OURS}/24`] });
      loseWhatWeSend(opened);
      guest = await Guest.boot({ image, netSocket: { path }, addresses: [`${GUEST}/24`] });
      const { code, stderr } = await guest.run(nvmetCommands(NQN, true).join(' && '));
      expect(code, stderr).toBe(0);
    });

    afterAll(async () => {
      await controller?.close();
      await opened?.close();
      await guest?.stop();
      rmSync(directory, { recursive: true, force: true });
    });

    /** What we send is lost: a frame now and then, or all of them. Without ACKs the other direction is cut as well. */
    function loseWhatWeSend({ link }: OpenDevice): void {
      const send = link.send.bind(link);
      let batches = 0;
      link.send = (batch, from) => {
        const lost = cut || (lossy && ++batches % LOSS_OF_BATCHES === 0);
        return lost ? batch.count - from : send(batch, from);
      };
    }

    async function connected(queues: number): Promise<NvmeController> {
      await controller?.close();
      controller = await connectNvme(opened.device, { ...address, subnqn: NQN, queues, queueSize: 32 });
      return controller;
    }

    /** The sum of the guest's disk, from byte `at` on; not of what the guest has in its page cache. */
    async function sumInGuest(at: number, bytes: number): Promise<string> {
      const command = `echo 3 > /proc/sys/vm/drop_caches; dd if=/dev/ram0 bs=512 skip=${at / 512} count=${bytes / 512} 2>/dev/null | sha256sum`;
      return (await guest.run(command)).stdout.slice(0, 64);
    }

    it('discovers its subsystem', async () => {
      const { entries } = await discoverNvme(opened.device, address);
      expect(entries.map(({ subnqn, traddr, trsvcid }) => [subnqn, traddr, trsvcid])).toContainEqual([
        NQN,
        GUEST,
        '4420',
      ]);
    });

    it.each([
      ['on a clean wire', 1, false],
      ['on a clean wire with two queues', 2, false],
      ['when what we send is lost now and then', 2, true],
    ])('reads and writes %s', async (_, queues, loss) => {
      const disk = await (await connected(queues)).namespace(1);
      lossy = loss;
      try {
        const data = randomBytes(700 * disk.blockBytes, queues + (loss ? 7 : 0));
        await disk.write(3, data);
        await disk.flush();
        expect(await sumInGuest(3 * disk.blockBytes, data.length)).toBe(sumOf(data));
        const back = new Uint8Array(data.length);
        await disk.read(3, back);
        expect(sumOf(back)).toBe(sumOf(data));
        // Small ones go in the capsule; all at once they fill the queues.
        const small = Array.from({ length: 100 }, (_, i) => randomBytes(disk.blockBytes * (1 + (i % 8)), i));
        await Promise.all(small.map((bytes, i) => disk.write(1000 + i * 8, bytes)));
        const read = small.map((bytes) => new Uint8Array(bytes.length));
        await Promise.all(read.map((bytes, i) => disk.read(1000 + i * 8, bytes)));
        expect(read.map(sumOf)).toEqual(small.map(sumOf));
      } finally {
        lossy = false;
      }
    });

    it('has the other commands', async () => {
      const disk = await (await connected(1)).namespace(1);
      await disk.write(0, new Uint8Array(16 * disk.blockBytes).fill(0x55));
      await disk.writeZeroes(4, 8);
      const back = new Uint8Array(16 * disk.blockBytes);
      await disk.read(0, back);
      expect(back.indexOf(0)).toBe(4 * disk.blockBytes);
      expect(back.lastIndexOf(0)).toBe(12 * disk.blockBytes - 1);
      await disk.deallocate([{ lba: 0, blocks: 8 }]);
      await disk.flush();
    });

    it('survives a cut of five seconds, with its bytes right', async () => {
      const host = await connected(2);
      const disk = await host.namespace(1);
      const data = randomBytes(2000 * disk.blockBytes, 99);
      const half = data.length / 2;
      const first = disk.write(0, data.subarray(0, half));
      cut = true;
      const second = disk.write(half / disk.blockBytes, data.subarray(half));
      await new Promise<void>((resolve) => address.timers.after(CUT_NS, resolve));
      cut = false;
      await Promise.all([first, second]);
      await disk.flush();
      expect(await sumInGuest(0, data.length)).toBe(sumOf(data));
      const back = new Uint8Array(data.length);
      await disk.read(0, back);
      expect(sumOf(back)).toBe(sumOf(data));
    });

    it('leaves nothing behind when it disconnects', async () => {
      await connected(2);
      await controller?.close();
      expect(opened.device.qpCount).toBe(0);
      const { stdout } = await guest.run(
        'for i in $(seq 100); do n=$(rdma resource show qp | grep -c nvmet); [ "$n" = 0 ] && break; usleep 100000; done; echo $n',
      );
      expect(stdout.trim()).toBe('0');
    });
  });
}

/** Bytes that follow from the seed, and do not repeat. */
function randomBytes(length: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

function sumOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
