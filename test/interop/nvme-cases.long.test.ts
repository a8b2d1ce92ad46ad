/**
 * Cases of blktests' group nvme whose target can be ours: what they do to a host of Linux, with their numbers. Those
 * about configfs, PCI Express, passthrough, zones and other transports are not here: docs/nvme.md has the list.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MemoryBackend } from '../../src/ulp/nvme/index.ts';
import { describeWith } from '../support/need.ts';
import { HOST, MountedLab, NQN, OURS, until } from './nvme-lab.ts';

const CONNECT = `nvme connect -t rdma -a ${OURS} -s 4420 -n ${NQN} -i 2 -c 1 ${HOST}`;
const DISCONNECT = `nvme disconnect -n ${NQN}`;
const LIVE = '[ "$(cat /sys/class/nvme/nvme0/state)" = live ]';
const untilLive = `for i in $(seq 200); do ${LIVE} && break; sleep 0.1; done; ${LIVE}`;
const SLOW_MS = 600_000;
const fio = (seconds: number): string =>
  `fio --name=v --filename=/dev/nvme0n1 --direct=1 --ioengine=libaio --thread --rw=randrw --bs=4k --iodepth=16 --time_based --runtime=${seconds}`;

describeWith('lab', 'cases of blktests with a disk of ours in Linux 6.12', () => {
  const lab = new MountedLab();
  beforeAll(async () => {
    await lab.start('6.12', { userland: 'middleware' });
    await lab.run(CONNECT);
    await lab.run(until('/dev/nvme0n1'));
  });
  afterAll(() => lab.stop());

  it('004, 026: the UUID of the namespace is the one in sysfs and in its descriptors', async () => {
    const uuid = '42424242-4242-4242-4242-424242424242';
    expect((await lab.run('cat /sys/block/nvme0n1/uuid')).trim()).toBe(uuid);
    expect(await lab.run('nvme ns-descs /dev/nvme0n1')).toContain(uuid);
  });

  it('014: a flush is done', async () => {
    await lab.run('dd if=/dev/urandom of=/dev/nvme0n1 bs=1M count=4 oflag=direct 2>/dev/null');
    expect(await lab.run('nvme flush /dev/nvme0n1 -n 1')).toContain('success');
  });

  it('018: a block behind the end is refused, and the controller lives', async () => {
    const { guest } = lab;
    if (guest === undefined) throw new Error('there is no guest');
    const beyond = await guest.run('nvme read /dev/nvme0n1 -s 131072 -c 0 -z 512 -d /tmp/out');
    expect(beyond.code).not.toBe(0);
    expect(beyond.stdout + beyond.stderr).toMatch(/LBA Out of Range/i);
    await lab.run(LIVE);
  });

  it('019: deallocations of one range and of several are done', async () => {
    await lab.run('nvme dsm /dev/nvme0n1 -n 1 -d 1 -s 0 -b 10');
    await lab.run('nvme dsm /dev/nvme0n1 -n 1 -d 1 -s 0,10,20,30 -b 10,10,10,10');
  });

  it('021, 023, 025, 028: nvme-cli lists it and reads its logs', async () => {
    expect(await lab.run('nvme list')).toContain('/dev/nvme0n1');
    expect(await lab.run('nvme smart-log /dev/nvme0')).toContain('available_spare');
    // As it is: nvme-cli 2.4 prints nothing of it over fabrics. Get Log Page is supported.
    const effects = await lab.run('nvme get-log /dev/nvme0 -i 5 -l 4096 -b | od -A n -t x4 -j 8 -N 4');
    expect(effects.trim()).toBe('00000001');
    expect(await lab.run('nvme list-subsys')).toContain(NQN);
  });

  it('029: what nvme write has written, nvme read reads', async () => {
    await lab.run(
      'dd if=/dev/urandom of=/tmp/in bs=4k count=4 2>/dev/null; ' +
        'nvme write /dev/nvme0n1 -s 64 -c 31 -z 16384 -d /tmp/in && ' +
        'nvme read /dev/nvme0n1 -s 64 -c 31 -z 16384 -d /tmp/out && cmp /tmp/in /tmp/out',
    );
  });

  it('016, 027, 052: namespaces come and go, and the host follows', async () => {
    for (let i = 0; i < 5; i++) {
      const uuid = new Uint8Array(16).fill(0x50 + i);
      const { nsid } = lab.subsystem.addNamespace({ backend: new MemoryBackend(1 << 20), uuid });
      await lab.run(until(`/dev/nvme0n${nsid}`));
      await lab.run(`dd if=/dev/nvme0n${nsid} of=/dev/null bs=64k 2>/dev/null && nvme ns-rescan /dev/nvme0`);
      lab.subsystem.removeNamespace(nsid);
      await lab.run(`for i in $(seq 200); do [ -e /dev/nvme0n${nsid} ] || exit 0; sleep 0.1; done; exit 1`);
    }
  });

  it('005, 022: a controller that is reset is live again', async () => {
    await lab.run(`nvme reset /dev/nvme0 && ${untilLive}`, SLOW_MS);
    await lab.run('dd if=/dev/nvme0n1 of=/dev/null bs=1M count=1 2>/dev/null');
  });

  it('040: it is reset while fio reads and writes, which sees no error', async () => {
    const job = lab.run(fio(10), SLOW_MS);
    await lab.run(`sleep 2; nvme reset /dev/nvme0 && ${untilLive}`, SLOW_MS);
    expect(await job).toContain('err= 0');
  });

  it('031: a controller is disconnected right after it was connected, ten times', async () => {
    await lab.run(DISCONNECT);
    await lab.run(`for i in $(seq 10); do ${CONNECT} && ${DISCONNECT} || exit 1; done`, SLOW_MS);
    expect(lab.targets[0]?.controllers).toEqual([]);
  });

  it('003, 030: a discovery controller is kept alive, and its log counts changes', async () => {
    const counter = async (): Promise<number> =>
      Number(
        /Generation counter (\d+)/.exec(await lab.run(`nvme discover -t rdma -a ${OURS} -s 4420 ${HOST}`))?.[1] ?? -1,
      );
    expect(await counter()).toBeGreaterThanOrEqual(0);
    expect(await counter()).toBe(await counter());
    expect(await lab.run('dmesg | grep -i "keep.alive.*fail" || true')).toBe('');
  });
});
