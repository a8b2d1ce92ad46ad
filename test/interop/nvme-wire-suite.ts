/**
 * Bad wires between a stock Linux and us, through a bump, in both roles: a disk that we serve and Linux mounts, and a
 * disk of nvmet-rdma that our host writes and reads. Whatever the wire does, the bytes are right and nobody sees an I/O
 * error. tshark reads the capture of each as we do, and the analyzer finds nothing in it that the wire has not done.
 * One guest for all of it. The connection of Linux's host may have to be made again: ref:nvmeof#4.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { WireFaults } from '../../src/faults/index.ts';
import { connectNvme, type NvmeController } from '../../src/ulp/nvme/host/index.ts';
import type { BumpAccount } from '../../tools/bump/account.ts';
import { SLOW_HOST_WARNINGS } from '../../tools/experiment/findings.ts';
import type { KernelLabel } from '../../tools/lab/recipe.ts';
import { systemTimers } from '../../tools/nvme/serve.ts';
import { tsharkAvailable } from '../../tools/tshark.ts';
import { describeWith, useWhereThere } from '../support/need.ts';
import { startProgram } from '../support/running.ts';
import type { CaptureJudgement } from './judge-capture.ts';
import { nvmetCommands } from './nvme-host-suite.ts';
import { GUEST, HOST, MountedLab, NQN, OURS, until } from './nvme-lab.ts';

type FaultSpec = NonNullable<WireFaults['aToB']>;

/** A frame that is held back so long is overtaken. */
const HELD_NS = 1_000_000;
/** Half a percent each. */
const ALL_OF_IT: FaultSpec = {
  loss: 0.005,
  corrupt: 0.005,
  reorder: 0.005,
  reorderDelayNs: HELD_NS,
  duplicate: 0.005,
  duplicateDelayNs: HELD_NS,
};
/** What a wire does to frames, each way. */
export const BAD_WIRES: readonly (readonly [string, FaultSpec])[] = [
  ['loses 1 %', { loss: 0.01 }],
  // More would do nothing else, for longer: each gap in READ responses has all READs behind it asked for again.
  ['reorders 0.5 %', { reorder: 0.005, reorderDelayNs: HELD_NS }],
  ['damages 1 %', { corrupt: 0.01 }],
  ['brings 2 % twice', { duplicate: 0.02, duplicateDelayNs: HELD_NS }],
  ['does all of it', ALL_OF_IT],
];

/** A command is over, and its key invalid, before a frame comes again; rdma_rxe still has its last sixteen READs. */
const LATE_TWICE: FaultSpec = { duplicate: 0.05, duplicateDelayNs: 50_000_000 };

/** Retransmission timers of rdma_rxe take half a second each. */
const SLOW_MS = 900_000;
const RAM_NQN = 'nqn.2026-11.example:ram';
/** Where the guest mounts it. */
const DISK = '/mnt';
/** Errors that somebody above the disk has seen. */
const DISK_ERROR = /I\/O error, dev nvme0n1|Buffer I\/O error|EXT4-fs (?:error|warning)|[Rr]emounting/;
const REREAD = [
  'umount /mnt',
  'echo 3 > /proc/sys/vm/drop_caches',
  'e2fsck -fn /dev/nvme0n1',
  'mount -t ext4 /dev/nvme0n1 /mnt',
].join(' && ');
const SUMS = `sha256sum ${DISK}/a ${DISK}/b ${DISK}/c | cut -c1-64`;

/** For how many seconds the wire is cut. A connection may live through the first, and lives through no second one. */
const CUTS = [5, 40] as const;
/** What the analyzer may be alarmed of on each wire; the guest is slow besides. */
const EXPLAINED = {
  faults: [...SLOW_HOST_WARNINGS, 'icrc-invalid'],
  cut: [...SLOW_HOST_WARNINGS, 'no-reply', 'connect-timeout', 'peer-restarted'],
} as const;

/** What else the capture has where a READ request came back late: an ACK from before the NAK may come back as well. */
const REFUSED_LATE = ['remote-access-error', 'rule/after-fatal-nak', 'first-error'];

/** The tests, `mebibytes` written and read by each. */
export function testBadWires(kernel: KernelLabel, wires: typeof BAD_WIRES, mebibytes: number): void {
  describeWith('lab', `NVMe with Linux ${kernel} on bad wires`, () => {
    useWhereThere('tshark');
    const lab = new MountedLab();
    let controller: NvmeController | undefined;

    beforeAll(async () => {
      await lab.start(kernel);
      await lab.run(nvmetCommands(RAM_NQN, true).join(' && '));
      await lab.run(`nvme connect -t rdma -a ${OURS} -s 4420 -n ${NQN} -i 2 -c 1 -k 30 ${HOST}`);
      await lab.run(until('/dev/nvme0n1'));
      await lab.run('dmesg -c > /dev/null; mke2fs -q -t ext4 /dev/nvme0n1 && mount -t ext4 /dev/nvme0n1 /mnt');
    });
    afterAll(async () => {
      await controller?.close();
      await lab.stop();
    });

    async function writeInGuest(): Promise<void> {
      const noise = `dd if=/dev/urandom of=${DISK}/b bs=1M count=${mebibytes} 2>/dev/null`;
      const odd = `dd if=/dev/urandom of=${DISK}/c bs=513 count=77 2>/dev/null`;
      await lab.run(`cp /bin/dash ${DISK}/a && ${noise} && ${odd} && sync`, SLOW_MS);
    }

    async function foundAgainInGuest(): Promise<void> {
      const written = await lab.run(SUMS);
      await lab.run(REREAD, SLOW_MS);
      expect(await lab.run(SUMS, SLOW_MS)).toBe(written);
    }

    /**
     * How often Linux's host has connected again since this was asked last; a path (nvme0c0n1) may fail, the disk
     * (nvme0n1) does not.
     */
    async function connectedAgain(): Promise<number> {
      const said = await lab.run('dmesg -c');
      expect(DISK_ERROR.test(said), said).toBe(false);
      return said.match(/Successfully reconnected/g)?.length ?? 0;
    }

    /** The same of this work alone: what comes while captures are judged is not of the wire. */
    async function connectedAgainIn(work: () => Promise<void>): Promise<number> {
      await connectedAgain();
      await work();
      return connectedAgain();
    }

    /** Its connection may be in the making when a wire is good again. */
    const isLive = () =>
      lab.run('for i in $(seq 300); do grep -q live /sys/class/nvme/nvme0/state && exit 0; sleep 0.1; done; exit 1');

    /** Our host on the guest's disk, and what it writes there. */
    async function ourHost(name: string) {
      controller ??= await connectNvme(lab.opened?.device ?? expect.fail('there is no device'), {
        address: GUEST,
        subnqn: RAM_NQN,
        hostnqn: 'nqn.2014-08.org.nvmexpress:uuid:4f1c0b9e-0d5e-4d5b-9a52-6f5a4d3c2b1a',
        hostid: new Uint8Array(16).fill(7),
        timers: systemTimers,
        queues: 2,
        queueSize: 32,
        keepAliveMs: 30_000,
      });
      const host = controller;
      const disk = await host.namespace(1);
      const data = noiseOf(`${name} ${mebibytes}`, mebibytes << 20);
      const readBack = async () => {
        const back = new Uint8Array(data.length);
        await disk.read(0, back);
        expect(Buffer.compare(back, data)).toBe(0);
      };
      const demandInGuest = async () => {
        const inGuest = `echo 3 > /proc/sys/vm/drop_caches; dd if=/dev/ram0 bs=1M count=${mebibytes} 2>/dev/null | sha256sum`;
        expect((await lab.run(inGuest)).slice(0, 64)).toBe(createHash('sha256').update(data).digest('hex'));
      };
      return { host, disk, data, readBack, demandInGuest };
    }

    it.each(wires)('Linux finds its bytes again on a wire that %s', async (what, faults) => {
      const { account, silent, late, again } = await during(lab, faults, () =>
        connectedAgainIn(async () => {
          await writeInGuest();
          await foundAgainInGuest();
        }),
      );
      await isLive();
      told(`Linux's host, ${what}`, account, again);
      // What comes twice is no reason to send anything again, and ends no connection but by a READ request (below).
      if (isRepeatedOnly(faults) && !silent) expect(again).toBeLessThanOrEqual(late);
    });

    it('Linux finds its bytes again on a wire that brings READ requests back when their keys are invalid', async () => {
      const { account, late, again } = await during(lab, LATE_TWICE, () =>
        connectedAgainIn(async () => {
          await lab.run(`dd if=/dev/urandom of=${DISK}/b bs=16k count=256 oflag=direct 2>/dev/null`, SLOW_MS);
          await foundAgainInGuest();
        }),
      );
      await isLive();
      told("Linux's host, twice and late", account, again);
      expect(again).toBeGreaterThan(0);
      expect(again).toBeLessThanOrEqual(late);
    });

    it.each(wires)('our host finds its bytes again on a wire that %s', async (what, faults) => {
      const { host, disk, data, readBack, demandInGuest } = await ourHost(what);
      const before = host.reconnects;
      const { account, silent, again } = await during(lab, faults, async () => {
        await disk.write(0, data);
        await disk.flush();
        await readBack();
        return host.reconnects - before;
      });
      told(`our host, ${what}`, account, again);
      if (!silent) expect(again).toBe(0);
      await demandInGuest();
    });

    it.each(CUTS)('Linux finds its bytes again when the wire was cut for %d seconds', async (seconds) => {
      let again = 0;
      const { ids } = await captured(lab, 'cut', async () => {
        again = await connectedAgainIn(async () => {
          const writing = writeInGuest();
          await lab.cut(seconds);
          await writing;
          await foundAgainInGuest();
        });
      });
      await isLive();
      if (seconds === CUTS[1]) expect([again > 0, ids.some(isSilence)]).toEqual([true, true]);
    });

    it.each(CUTS)('our host finds its bytes again when the wire was cut for %d seconds', async (seconds) => {
      const { host, disk, data, readBack, demandInGuest } = await ourHost(`cut ${seconds}`);
      const before = host.reconnects;
      const { ids } = await captured(lab, 'cut', async () => {
        const half = data.length / 2;
        const first = disk.write(0, data.subarray(0, half));
        const cut = lab.cut(seconds);
        const second = disk.write(half / disk.blockBytes, data.subarray(half));
        await Promise.all([first, second, cut]);
        await disk.flush();
        await readBack();
      });
      if (seconds === CUTS[1]) expect([host.reconnects > before, ids.some(isSilence)]).toEqual([true, true]);
      expect(host.state).toBe('live');
      await demandInGuest();
    });

    it('leaves the disk as the guest sees it, and a file system without fault', async () => {
      await lab.run('umount /mnt && e2fsck -fn /dev/nvme0n1');
      const inGuest = await lab.run('echo 3 > /proc/sys/vm/drop_caches; sha256sum < /dev/nvme0n1');
      const hash = createHash('sha256');
      await pipeline(createReadStream(lab.disk), hash);
      expect(inGuest.slice(0, 64)).toBe(hash.digest('hex'));
    });
  });
}

/**
 * What the bump did meanwhile; it must have done something of everything. `silent`: the capture has an end that did not
 * answer any of the repetitions. None of these wires does that: on a busy machine a guest may have no processor for
 * four seconds, and its connection ends. Without such silence no connection may end. `again`: what the work tells.
 */
async function during(lab: MountedLab, faults: FaultSpec, work: () => Promise<number>) {
  let account: BumpAccount | undefined;
  let again = 0;
  const { ids, late } = await captured(lab, 'faults', async () => {
    await lab.both(faults);
    try {
      again = await work();
    } finally {
      account = await lab.wire({});
    }
  });
  if (account === undefined) throw new Error('there was no bump');
  for (const direction of Object.values(account.directions)) {
    if (faults.loss !== undefined) expect(direction.dropped).toBeGreaterThan(0);
    if (faults.corrupt !== undefined) expect(direction.corrupted).toBeGreaterThan(0);
    if (faults.duplicate !== undefined) expect(direction.duplicated).toBeGreaterThan(0);
    if (faults.reorder !== undefined) expect(direction.delayed + direction.reordered).toBeGreaterThan(0);
  }
  // Frames are damaged behind our capture, or before it: those are found.
  expect(ids.includes('icrc-invalid')).toBe(faults.corrupt !== undefined);
  return { account, silent: ids.some(isSilence), late, again };
}

/** What the analyzer is alarmed of in a capture of this work, each id once; tshark has to read it as we do. */
async function captured(lab: MountedLab, wire: keyof typeof EXPLAINED, work: () => Promise<void>) {
  const capture = lab.newCapture();
  try {
    await work();
  } finally {
    lab.endCapture();
  }
  const { alarms, differences, naks } = await judged(capture);
  // The one access that rdma_rxe may refuse on any of these wires: each such NAK is one.
  expect(naks.other).toEqual([]);
  const explained: readonly string[] = naks.late.length > 0 ? [...EXPLAINED[wire], ...REFUSED_LATE] : EXPLAINED[wire];
  const unexplained = alarms.filter(({ id }) => !explained.includes(id));
  expect(unexplained.map(({ id, text }) => `${id}: ${text}`)).toEqual([]);
  expect(differences).toEqual([]);
  return { ids: [...new Set(alarms.map(({ id }) => id))], late: naks.late.length };
}

/** In another process: this one serves the guest, which gives up a device that is busy for long. */
async function judged(capture: string): Promise<CaptureJudgement> {
  const words = tsharkAvailable().available ? [capture, 'tshark'] : [capture];
  const { code, stdout, stderr } = await startProgram(JUDGE, words).ended;
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

const JUDGE = fileURLToPath(new URL('judge-capture.ts', import.meta.url));

/** Whether a finding says that there was no answer. */
const isSilence = (id: string): boolean => ['no-reply', 'retry-exceeded', 'connect-timeout'].includes(id);

/** Whether the wire does no more than to bring frames twice. */
const isRepeatedOnly = (faults: FaultSpec): boolean =>
  Object.keys(faults).every((name) => name.startsWith('duplicate'));

/** A line for docs/nvme.md, where one is asked for. */
function told(what: string, { directions, started, ended }: BumpAccount, reconnects: number): void {
  if (process.env['ROCE_NVME_FIGURES'] === undefined) return;
  const seconds = (Number(ended) - Number(started)).toFixed(1);
  const counts = Object.entries(directions).map(
    ([direction, { frames, dropped, corrupted, duplicated, delayed, reordered }]) =>
      `${direction} ${frames} frames, ${dropped} lost, ${corrupted} damaged, ${duplicated} twice, ${delayed}+${reordered} late`,
  );
  process.stderr.write(`${what}: ${seconds} s; ${counts.join('; ')}; connected again ${reconnects} times\n`);
}

/** Bytes that follow from a name, and do not repeat. At once: our device serves the guest meanwhile. */
const noiseOf = (name: string, length: number): Uint8Array =>
  createHash('shake256', { outputLength: length }).update(name).digest();
