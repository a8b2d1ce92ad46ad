/**
 * In-band authentication with stock Linux, in both roles: a guest's nvme-cli and kernel with our target, and our host
 * with nvmet-rdma. Every group and hash function, wrong secrets, missing ones, and re-authentication. What the kernels
 * compute is what test/vectors/dhchap.json has: with `ROCE_RECORD_DHCHAP=FILE` it is written there, a line for each.
 */
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RoceError } from '../../src/index.ts';
import { nvmeCrypto } from '../../src/node/nvme/crypto.ts';
import { type OpenDevice, openDevice } from '../../src/node/open.ts';
import {
  connectNvme,
  DhchapGroup,
  DhchapHash,
  DhchapSecret,
  dhchapGroupName,
  dhchapHashName,
  formatDhchapSecret,
  type NvmeConnectOptions,
} from '../../src/ulp/nvme/index.ts';
import { Guest } from '../../tools/lab/guest.ts';
import { buildImage } from '../../tools/lab/image.ts';
import type { KernelLabel } from '../../tools/lab/recipe.ts';
import { systemTimers } from '../../tools/nvme/serve.ts';
import { describeWith } from '../support/need.ts';
import { DhchapRecorder, type Known } from './dhchap-recorder.ts';
import { nvmetCommands } from './nvme-host-suite.ts';
import { GUEST, HOST, MountedLab, NQN, OURS, until } from './nvme-lab.ts';

const HOST_NQN = 'nqn.2014-08.org.nvmexpress:uuid:4f1c0b9e-0d5e-4d5b-9a52-6f5a4d3c2b1a';
const RAM_NQN = 'nqn.2026-11.example:ram';
const RECORD = process.env['ROCE_RECORD_DHCHAP'];

/** Keys of tests, which are secrets of nobody. */
function secretText(first: number, bytes: number, hash: number): string {
  return formatDhchapSecret(
    Uint8Array.from({ length: bytes }, (_, i) => (first + i * 5) & 0xff),
    hash,
  );
}

/** What is asked for, and the secrets. */
interface Demand {
  readonly hash: number;
  readonly group: number;
  readonly host: string;
  readonly controller: string;
}

const { Sha256, Sha384, Sha512 } = DhchapHash;

/** Hash function, group, transform of the secrets and bytes of their keys: each at least once. */
const COMBINATIONS = [
  [Sha256, DhchapGroup.Null, 0, 32],
  [Sha384, DhchapGroup.Null, Sha384, 48],
  [Sha512, DhchapGroup.Ffdhe2048, Sha512, 64],
  [Sha256, DhchapGroup.Ffdhe3072, Sha256, 32],
  [Sha384, DhchapGroup.Ffdhe4096, 0, 48],
  [Sha512, DhchapGroup.Ffdhe6144, 0, 64],
  [Sha256, DhchapGroup.Ffdhe8192, Sha512, 64],
] as const;
const CASES = COMBINATIONS.map(
  ([hash, group, transform, bytes]) =>
    [
      `${dhchapHashName(hash)}, ${dhchapGroupName(group)} and secrets of kind 0${transform}`,
      { hash, group, host: secretText(1, bytes, transform), controller: secretText(77, bytes, transform) },
    ] as const,
);
/** Of the tests that are not about groups. */
const PLAIN = { hash: Sha256, group: DhchapGroup.Null, host: secretText(1, 32, 0), controller: secretText(77, 32, 0) };
const WRONG = secretText(9, 32, 0);

/** Linux's host and our target. */
export function testAuthenticatedMount(kernel: KernelLabel): void {
  describeWith('lab', `Linux ${kernel} authenticates with our target`, () => {
    const recorder = new DhchapRecorder(nvmeCrypto);
    const failures: (number | undefined)[] = [];
    const lab = new MountedLab({ allowedHosts: [], crypto: recorder.suite });
    const connect = `nvme connect -t rdma -a ${OURS} -s 4420 -n ${NQN} -i 1 ${HOST}`;
    const observer = {
      queueJoined: () => {},
      queueClosed: () => {},
      authenticated: (_: unknown, __: unknown, failure: number | undefined) => {
        failures.push(failure);
      },
    };
    beforeAll(() => lab.start(kernel, { observer }));
    afterAll(() => lab.stop());

    /** Whether the guest connects; what it is told. */
    async function tries(words: string): Promise<number> {
      failures.length = 0;
      const { code = -1 } = (await lab.guest?.run(`${connect} ${words} 2>/dev/null`, { timeoutMs: 120_000 })) ?? {};
      return code;
    }

    it.each(CASES)('with %s, both ways', async (_, { hash, group, host, controller }) => {
      lab.subsystem.setHost({ nqn: HOST_NQN, secret: host, controllerSecret: controller, hash, group });
      expect(await tries(`-S ${host} -C ${controller}`)).toBe(0);
      expect(failures).toEqual([undefined, undefined]);
      record(recorder, { kernel, role: 'host', secret: host, hostNqn: HOST_NQN, subNqn: NQN, hash, group });
      await lab.run(until('/dev/nvme0n1'));
      await lab.run('dd if=/dev/nvme0n1 of=/dev/null bs=4096 count=4 2>/dev/null');
      await lab.run(`nvme disconnect -n ${NQN}`);
      expect(lab.targets[0]?.controllers).toEqual([]);
    });

    it('one way only, and again while it is connected', async () => {
      const { host } = PLAIN;
      lab.subsystem.setHost({ nqn: HOST_NQN, secret: host });
      expect(await tries(`-S ${host}`)).toBe(0);
      await lab.run(until('/dev/nvme0n1'));
      failures.length = 0;
      await lab.run(`echo ${host} > /sys/class/nvme/nvme0/dhchap_secret; usleep 2000000`);
      await lab.run('dd if=/dev/nvme0n1 of=/dev/null bs=4096 count=4 iflag=direct 2>/dev/null');
      // The admin queue and its I/O queue.
      expect(failures).toEqual([undefined, undefined]);
      await lab.run(`nvme disconnect -n ${NQN}`);
    });

    it.each<[string, string, (number | undefined)[]]>([
      ['another secret', `-S ${WRONG}`, [1]],
      ['no secret', '', []],
      ['another secret for the controller', `-S ${PLAIN.host} -C ${WRONG}`, [1]],
    ])('does not connect with %s, and the target lives', async (_, words, told) => {
      const { host, controller } = PLAIN;
      lab.subsystem.setHost({ nqn: HOST_NQN, secret: host, controllerSecret: controller });
      expect(await tries(words)).not.toBe(0);
      expect(failures).toEqual(told);
      await lab.run('for i in $(seq 100); do [ -e /dev/nvme0 ] || break; usleep 100000; done; [ ! -e /dev/nvme0n1 ]');
      expect(lab.targets[0]?.controllers).toEqual([]);
      expect(await tries(`-S ${host} -C ${controller}`)).toBe(0);
      await lab.run(`nvme disconnect -n ${NQN}`);
    });

    it('does not connect under a name that is not allowed', async () => {
      lab.subsystem.removeHost(HOST_NQN);
      expect(await tries(`-S ${WRONG}`)).not.toBe(0);
    });

    it('reads the secrets that its nvme-cli makes', async () => {
      for (const hash of [0, 1, 2, 3]) {
        const made = await lab.run(`nvme gen-dhchap-key -m ${hash} -n ${HOST_NQN}`);
        expect(DhchapSecret.parse(made).hash).toBe(hash);
      }
    });
  });
}

/** A Linux that is built without it. */
export function testHostWithout(kernel: KernelLabel): void {
  describeWith('lab', `Linux ${kernel}, which has no authentication`, () => {
    const lab = new MountedLab({ hosts: [{ nqn: HOST_NQN, secret: PLAIN.host }], crypto: nvmeCrypto });
    beforeAll(() => lab.start(kernel));
    afterAll(() => lab.stop());

    it('does not connect where it is demanded, and the target lives', async () => {
      const connect = `nvme connect -t rdma -a ${OURS} -s 4420 -n ${NQN} ${HOST}`;
      await lab.run(`! ${connect} 2>/dev/null; ! ${connect} -S ${PLAIN.host} 2>/dev/null`);
      expect(lab.targets[0]?.controllers).toEqual([]);
      expect(await lab.run(`nvme discover -t rdma -a ${OURS} -s 4420 ${HOST}`)).toContain(NQN);
    });
  });
}

/** Our host and Linux's target. */
export function testAuthenticatedHost(kernel: KernelLabel): void {
  describeWith('lab', `our host authenticates with nvmet-rdma of ${kernel}`, () => {
    const recorder = new DhchapRecorder(nvmeCrypto);
    let directory = '';
    let guest: Guest;
    let opened: OpenDevice;

    beforeAll(async () => {
      const image = await buildImage(kernel);
      directory = mkdtempSync(join(tmpdir(), 'rocev2-nvme-'));
      const path = join(directory, 'wire');
      opened = await openDevice({ link: `qemu:${path}`, addresses: [`${OURS}/24`] });
      guest = await Guest.boot({ image, netSocket: { path }, addresses: [`${GUEST}/24`] });
      const allowed = `/sys/kernel/config/nvmet/subsystems/${RAM_NQN}/allowed_hosts`;
      await run(
        [
          ...nvmetCommands(RAM_NQN, false),
          `mkdir hosts/${HOST_NQN}`,
          `ln -s /sys/kernel/config/nvmet/hosts/${HOST_NQN} ${allowed}/${HOST_NQN}`,
        ].join(' && '),
      );
    });
    afterAll(async () => {
      await opened?.close();
      await guest?.stop();
      rmSync(directory, { recursive: true, force: true });
    });

    async function run(command: string): Promise<void> {
      const { code, stderr } = await guest.run(command, { timeoutMs: 120_000 });
      expect(code, stderr).toBe(0);
    }

    async function demand({ hash, group, host, controller }: Demand): Promise<void> {
      const settings = {
        dhchap_key: host,
        dhchap_ctrl_key: controller,
        dhchap_hash: `hmac(${dhchapHashName(hash)})`,
        dhchap_dhgroup: dhchapGroupName(group),
      };
      const at = `/sys/kernel/config/nvmet/hosts/${HOST_NQN}`;
      await run(
        Object.entries(settings)
          .map(([name, value]) => `echo -n '${value}' > ${at}/${name}`)
          .join(' && '),
      );
    }

    function options(more: Partial<NvmeConnectOptions>): NvmeConnectOptions {
      const hostid = Uint8Array.from(Buffer.from(HOST_NQN.slice(-36).replaceAll('-', ''), 'hex'));
      return { address: GUEST, subnqn: RAM_NQN, hostnqn: HOST_NQN, hostid, timers: systemTimers, queues: 2, ...more };
    }

    it.each(CASES)('with %s, both ways', async (_, given) => {
      await demand(given);
      const { hash, group, host, controller: controllerSecret } = given;
      const controller = await connectNvme(
        opened.device,
        options({ hostSecret: host, controllerSecret, crypto: recorder.suite }),
      );
      record(recorder, {
        kernel,
        role: 'controller',
        secret: controllerSecret,
        hostNqn: HOST_NQN,
        subNqn: RAM_NQN,
        hash,
        group,
      });
      const disk = await controller.namespace(1);
      await disk.write(0, new Uint8Array(disk.blockBytes).fill(hash));
      const back = new Uint8Array(disk.blockBytes);
      await disk.read(0, back);
      expect(back.every((byte) => byte === hash)).toBe(true);
      await controller.close();
      expect(opened.device.qpCount).toBe(0);
    });

    it('again while it is connected, with the secrets of before and with others', async () => {
      await demand(PLAIN);
      const { host: hostSecret, controller: controllerSecret } = PLAIN;
      const controller = await connectNvme(
        opened.device,
        options({ hostSecret, controllerSecret, crypto: nvmeCrypto, reconnectTries: 0 }),
      );
      const disk = await controller.namespace(1);
      const back = new Uint8Array(disk.blockBytes);
      await Promise.all([controller.reauthenticate(), disk.read(0, back)]);
      const others = { hostSecret: WRONG, controllerSecret: secretText(13, 32, 0) };
      await demand({ ...PLAIN, host: others.hostSecret, controller: others.controllerSecret });
      await controller.reauthenticate(others);
      await disk.read(0, back);
      expect([controller.state, controller.reconnects]).toEqual(['live', 0]);
      // With the old ones no more: that ends it.
      await expect(controller.reauthenticate({ hostSecret, controllerSecret })).rejects.toThrow(RoceError);
      await controller.close();
      await expect.poll(() => opened.device.qpCount).toBe(0);
    });

    it.each<[string, Partial<NvmeConnectOptions>, RegExp]>([
      ['another secret', { hostSecret: WRONG }, /refuses this host: authentication failed|where a secret is wrong/],
      ['no secret', {}, /there is no hostSecret/],
      [
        'another secret for the controller',
        { hostSecret: PLAIN.host, controllerSecret: WRONG },
        /controller is not trusted: authentication failed/,
      ],
    ])('does not connect with %s', async (_, more, message) => {
      await demand(PLAIN);
      await expect(connectNvme(opened.device, options({ crypto: nvmeCrypto, ...more }))).rejects.toThrow(message);
      expect(opened.device.qpCount).toBe(0);
    });
  });
}

function record(recorder: DhchapRecorder, known: Known): void {
  if (RECORD !== undefined) appendFileSync(RECORD, `${JSON.stringify(recorder.last(known))}\n`);
}
