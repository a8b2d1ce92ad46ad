/**
 * Goal: a link hears of its descriptor for as long as it wants and not a moment longer, whatever else happens in the
 * process. Method: event counters of the kernel as descriptors, in this thread, in workers and in processes of their
 * own.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { FAILED, type Libc, loadLibc, O_NONBLOCK, O_RDWR, READABLE, WRITABLE } from '../../../src/node/links/libc.ts';
import { DescriptorWatch } from '../../../src/node/links/poller.ts';
import { describeWith } from '../../support/need.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const LIBC_URL = new URL('../../../src/node/links/libc.ts', import.meta.url).href;
const POLLER_URL = new URL('../../../src/node/links/poller.ts', import.meta.url).href;

/** Runs a program of its own to its end. */
const run = (script: string) =>
  spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    encoding: 'utf8',
    cwd: ROOT,
    timeout: 100_000,
  });

/** What a worker runs: watches a descriptor that is readable once. */
const SCRIPT = `(async () => {
  const { parentPort } = require('node:worker_threads');
  (await import('tsx/esm/api')).register();
  const { loadLibc } = await import('${LIBC_URL}');
  const { DescriptorWatch } = await import('${POLLER_URL}');
  const libc = await loadLibc();
  const fd = libc.eventfd(1, ${O_NONBLOCK});
  new DescriptorWatch(libc, fd, () => {
    libc.read(fd, new ArrayBuffer(8), 8);
    parentPort.postMessage('told');
  });
})()`;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn();
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn();
}

/** A descriptor that is readable after `ring` until `hush`. */
class Bell {
  readonly fd: number;
  readonly #libc: Libc;
  readonly #bytes = new Uint8Array(new BigUint64Array([1n]).buffer);

  constructor(libc: Libc) {
    this.#libc = libc;
    this.fd = libc.eventfd(0, O_NONBLOCK);
  }

  ring(): void {
    expect(this.#libc.write(this.fd, this.#bytes, 8)).toBe(8);
  }

  hush(): number {
    return this.#libc.read(this.fd, new ArrayBuffer(8), 8);
  }
}

describeWith('koffi', 'a watched descriptor', () => {
  it('is told of when it can be read, once per round of the loop until it has been', async () => {
    const libc = await loadLibc();
    const bell = new Bell(libc);
    const told: number[] = [];
    const watch = new DescriptorWatch(libc, bell.fd, (bits) => {
      told.push(bits);
      if (told.length === 3) bell.hush();
    });
    await turns(5);
    expect(told).toEqual([]);
    bell.ring();
    await turns(10);
    expect(told).toEqual([READABLE, READABLE, READABLE]);
    watch.stop();
    libc.close(bell.fd);
  });

  it('is told of when it can be written only while that is wanted', async () => {
    const libc = await loadLibc();
    const bell = new Bell(libc);
    const told: number[] = [];
    const watch = new DescriptorWatch(libc, bell.fd, (bits) => {
      told.push(bits);
      watch.wantWritable(false);
    });
    await turns(5);
    expect(told).toEqual([]);
    watch.wantWritable(true);
    watch.wantWritable(true);
    await turns(5);
    expect(told).toEqual([WRITABLE]);
    watch.stop();
    watch.wantWritable(true);
    await turns(5);
    expect(told).toEqual([WRITABLE]);
    libc.close(bell.fd);
  });

  it('may be stopped and closed by the one who is told, and its number used again at once', async () => {
    const libc = await loadLibc();
    const [first, second] = [new Bell(libc), new Bell(libc)];
    const told: string[] = [];
    const watch = new DescriptorWatch(libc, first.fd, () => {
      told.push('first');
      watch.stop();
      watch.stop();
      libc.close(first.fd);
    });
    first.ring();
    await until(() => told.length > 0);
    const reused = new Bell(libc);
    expect(reused.fd).toBe(first.fd);
    const again = new DescriptorWatch(libc, reused.fd, () => {
      told.push('reused');
      reused.hush();
    });
    const other = new DescriptorWatch(libc, second.fd, () => {
      told.push('second');
      second.hush();
    });
    reused.ring();
    second.ring();
    await until(() => told.length > 2);
    await turns(5);
    expect(told.sort()).toEqual(['first', 'reused', 'second']);
    for (const each of [again, other]) each.stop();
    for (const each of [reused, second]) libc.close(each.fd);
  });

  it('may be stopped by the one who is told of another in the same round', async () => {
    const libc = await loadLibc();
    const bells = [new Bell(libc), new Bell(libc)];
    let told = 0;
    const watches = bells.map(
      (bell) =>
        new DescriptorWatch(libc, bell.fd, () => {
          told++;
          for (const each of watches) each.stop();
        }),
    );
    for (const bell of bells) bell.ring();
    await turns(10);
    expect(told).toBe(1);
    for (const bell of bells) libc.close(bell.fd);
  });

  it('is told of again and again while it fails', async () => {
    const libc = await loadLibc();
    // A TAP descriptor that no interface belongs to: poll(2) says POLLERR.
    const fd = libc.open('/dev/net/tun', O_RDWR | O_NONBLOCK);
    if (fd < 0) return;
    const told: number[] = [];
    const watch = new DescriptorWatch(libc, fd, (bits) => {
      told.push(bits);
      if (told.length === 3) watch.stop();
    });
    await turns(20);
    expect(told).toEqual([FAILED, FAILED, FAILED]);
    libc.close(fd);
  });

  it('is open, and watched once', async () => {
    const libc = await loadLibc();
    expect(() => new DescriptorWatch(libc, -1, () => {})).toThrow('descriptor -1 is open, and watched once');
    const bell = new Bell(libc);
    const watch = new DescriptorWatch(libc, bell.fd, () => {});
    expect(() => new DescriptorWatch(libc, bell.fd, () => {})).toThrow('watched once');
    watch.stop();
    libc.close(bell.fd);
  });
});

describeWith('koffi', 'a process', () => {
  const PROLOGUE = `
    const { loadLibc } = await import('${LIBC_URL}');
    const { DescriptorWatch } = await import('${POLLER_URL}');
    const libc = await loadLibc();
    const fd = libc.eventfd(1, ${O_NONBLOCK});`;

  it('lives while something is watched, and ends by itself after', () => {
    const { status, stdout } = run(`${PROLOGUE}
      let told = 0;
      const watch = new DescriptorWatch(libc, fd, () => {
        libc.read(fd, new ArrayBuffer(8), 8);
        if (++told === 3) watch.stop();
        else setTimeout(() => libc.write(fd, new BigUint64Array([1n]).buffer, 8), 5).unref();
      });
      process.on('exit', () => console.log('told', told));`);
    expect([status, stdout]).toEqual([0, 'told 3\n']);
  });

  it('can exit while something is watched', () => {
    const { status, stdout } = run(`${PROLOGUE}
      new DescriptorWatch(libc, fd, () => process.exit(3));`);
    expect([status, stdout]).toEqual([3, '']);
  });

  it('sees what a callback throws as an uncaught exception, and goes on', () => {
    const { status, stdout } = run(`${PROLOGUE}
      let told = 0;
      process.on('uncaughtException', (error) => console.log(error.message, told));
      const watch = new DescriptorWatch(libc, fd, () => {
        if (++told < 3) throw new Error('thrown');
        watch.stop();
      });`);
    expect([status, stdout]).toEqual([0, 'thrown 1\nthrown 2\n']);
  });
});

describeWith('koffi', 'a worker thread', () => {
  it('that alone has loaded koffi can be terminated while it waits', () => {
    const { status, stdout } = run(`
      const { Worker } = await import('node:worker_threads');
      const worker = new Worker(${JSON.stringify(SCRIPT)}, { eval: true, execArgv: [] });
      worker.once('message', async () => console.log('terminated', await worker.terminate()));`);
    expect([status, stdout]).toEqual([0, 'terminated 1\n']);
  });

  it('has a poller of its own, and can be terminated while it waits', async () => {
    const workers = [0, 1].map(() => new Worker(SCRIPT, { eval: true, execArgv: [] }));
    const told = workers.map(
      (worker) =>
        new Promise((resolve, reject) => {
          worker.once('message', resolve);
          worker.once('error', reject);
        }),
    );
    expect(await Promise.all(told)).toEqual(['told', 'told']);
    expect(await Promise.all(workers.map((worker) => worker.terminate()))).toEqual([1, 1]);
  });
});
