/**
 * Goal: however a worker dies, the application receives the same account: the reason in `closed`, the events of the
 * device, a typed error for every verb, pending or later, and no promise that stays pending.
 * Method: workers are started with a line of code before theirs, which runs what the test sends: an exception, the end
 * of the process, more memory than there is. `terminate` comes from outside.
 */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { BroadcastChannel, type Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { WrOpcode } from '../../../src/index.ts';
import { type Cable, connectSides, freshPort, makeSide, openCable, refusal, rejection, THEIRS } from './support.ts';

const ORDERS = `worker-deaths ${process.pid}`;
const started: Worker[] = [];

vi.mock('node:worker_threads', async (original) => {
  const real = await original<typeof import('node:worker_threads')>();
  /** Runs what it is sent, in 64 MiB. */
  class MortalWorker extends real.Worker {
    constructor(source: string, options: ConstructorParameters<typeof Worker>[1]) {
      const obey = `new BroadcastChannel(${JSON.stringify(ORDERS)}).onmessage = ({ data }) => (0, eval)(data);`;
      super(`${obey} ${source}`, { ...options, resourceLimits: { maxOldGenerationSizeMb: 64 } });
      started.push(this);
    }
  }
  return { ...real, Worker: MortalWorker };
});

const orders = new BroadcastChannel(ORDERS);
orders.unref();

/** How to die, as code for the worker, and what is said of it. */
const DEATHS = [
  {
    how: 'an exception that nothing catches',
    code: "throw new RangeError('out of luck')",
    says: 'failed: out of luck',
  },
  { how: 'process.exit', code: 'process.exit(7)', says: 'has ended' },
  {
    how: 'all memory used',
    code: 'for (const held = []; ; ) held.push(new Array(10_000).fill(1.5))',
    says: /^qemu:.*: its worker thread failed: Worker terminated due to reaching memory limit/,
  },
];

let cable: Cable | undefined;
afterEach(async () => {
  await cable?.close();
  started.length = 0;
});

describe('a device whose worker dies', () => {
  it.each([...DEATHS, { how: 'termination from outside', code: undefined, says: 'has ended' }])(
    'by $how says port-err and device-fatal, gives the reason, and settles everything',
    async ({ code, says }) => {
      cable = await openCable('worker');
      const { ours } = cable;
      const { device } = ours;
      const { ours: side, ourEnd } = await connectSides(cable);
      const lonely = makeSide(device);
      const port = freshPort();
      // Nothing accepts: the connection is pending.
      cable.theirs.device.cm.listen(port);
      const connecting = rejection(device.cm.connect({ address: THEIRS, port, qp: lonely.qp }));
      side.qp.postRecv({ wrId: 1, sges: [{ mr: side.mr }] });
      const waits = [side.cq.next(), side.qp.events.next(), device.cm.listen(freshPort()).next()];
      const notified = lonely.cq.reqNotify();
      if (code === undefined) void started[0]?.terminate();
      else orders.postMessage(code);

      const { events } = device;
      expect([(await events.next()).value, (await events.next()).value]).toEqual(['port-err', 'device-fatal']);
      expect((await events.next()).done).toBe(true);
      const reason = await ours.closed;
      expect(reason?.code).toBe('ERR_ROCE_CLOSED');
      if (typeof says === 'string') expect(reason?.message).toBe(`${ours.link.name}: its worker thread ${says}`);
      else expect(reason?.message).toMatch(says);
      expect(await connecting).toBe('ERR_ROCE_CLOSED: the device is closed');
      expect((await Promise.all(waits)).map(({ done }) => done)).toEqual([true, true, true]);
      expect([await notified, await ourEnd.closed, side.qp.stateName]).toEqual([false, 'timeout', 'ERR']);
      const closed = /^ERR_ROCE_CLOSED/;
      for (const verb of [
        () => device.allocPd(),
        () => device.createCq(1),
        () => side.pd.createQp({ sendCq: side.cq, recvCq: side.cq }),
        () => side.pd.regMr(8),
        () => side.qp.postSend({ wrId: 2, opcode: WrOpcode.Send }),
        () => side.qp.postRecv({ wrId: 3 }),
        () => device.cm.listen(freshPort()),
      ])
        expect(refusal(verb)).toMatch(closed);
      expect(await rejection(device.cm.connect({ address: THEIRS, port, qp: lonely.qp }))).toMatch(closed);
      expect((await side.cq.next()).done).toBe(true);
      await ours.close();
    },
  );

  it.each(DEATHS)('by $how in the middle of a verb lets the call throw, not wait', async ({ code }) => {
    cable = await openCable('worker');
    const { ours } = cable;
    // It dies instead of answering.
    orders.postMessage(`
      const { MessagePort } = require('node:worker_threads');
      const { postMessage } = MessagePort.prototype;
      MessagePort.prototype.postMessage = () => {
        MessagePort.prototype.postMessage = postMessage;
        setImmediate(() => { ${code} });
      };`);
    const { device } = ours;
    // Until the order has arrived calls are answered.
    let said = 'nothing';
    for (let calls = 0; said === 'nothing' && calls < 100_000; calls++) said = refusal(() => device.allocPd());
    expect(said).toBe('ERR_ROCE_CLOSED: the device is closed');
    expect((await ours.closed)?.code).toBe('ERR_ROCE_CLOSED');
    expect([(await device.events.next()).value, (await device.events.next()).value]).toEqual([
      'port-err',
      'device-fatal',
    ]);
  });

  it('does not keep the process, which has closed nothing', () => {
    const script = `
      import { openDevice } from ${JSON.stringify(fileURLToPath(new URL('../../../src/index.ts', import.meta.url)))};
      let worker;
      process.on('worker', (one) => { worker = one; });
      const { device } = await openDevice({ link: 'qemu:' + process.argv[1], addresses: ['10.0.0.1/24'], thread: 'worker' });
      void device.createCq(4).next().then(({ done }) => console.log('done', done));
      void device.events.next().then(({ value }) => console.log(value));
      void worker.terminate();
    `;
    const path = `/tmp/roce-worker-death-${process.pid}.sock`;
    const args = ['--import', import.meta.resolve('tsx'), '--input-type=module', '--eval', script, path];
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect({ stdout, stderr, status }).toEqual({ stdout: 'port-err\ndone true\n', stderr: '', status: 0 });
    rmSync(path, { force: true });
  });
});
