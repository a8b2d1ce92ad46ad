/**
 * Goal: a worker that dies takes nothing down with it and leaves nobody waiting, and its thread ends with its device.
 * Method: a request that the application should never have let through makes it fail; `terminate` kills it; child
 * processes end by themselves.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { type OpenRdmaDevice, WrOpcode } from '../../../src/index.ts';
import { WorkerDevice } from '../../../src/node/worker/worker-device.ts';
import { WorkerQp } from '../../../src/node/worker/worker-qp.ts';
import {
  type Cable,
  connectSides,
  freshPort,
  makeSide,
  openCable,
  openPlaced,
  refusal,
  rejection,
  THEIRS,
  until,
} from './support.ts';

let cable: Cable | undefined;
afterEach(() => cable?.close());

/** What only a bug of ours could do: a request in the ring that nobody has checked. */
function plantBug({ device }: OpenRdmaDevice): void {
  const { pd, cq } = makeSide(device);
  const qp = pd.createQp({ sendCq: cq, recvCq: cq });
  if (!(device instanceof WorkerDevice && qp instanceof WorkerQp)) throw new Error('not in a worker');
  device.stack.posts.send(qp.handle, { wrId: 1, opcode: WrOpcode.Send }, device.keys);
}

/** The worker of whatever is opened meanwhile. */
async function watched<T>(open: () => Promise<T>): Promise<{ opened: T; worker: Worker }> {
  let worker: Worker | undefined;
  const see = (one: Worker): void => {
    worker = one;
  };
  process.on('worker', see);
  const opened = await open();
  process.off('worker', see);
  if (worker === undefined) throw new Error('no worker was started');
  return { opened, worker };
}

describe('a worker that fails', () => {
  it('ends every wait, says why, and lets everything be freed', async () => {
    cable = await openCable('worker');
    const { ours } = cable;
    const { device } = ours;
    const side = makeSide(device);
    const port = freshPort();
    cable.theirs.device.cm.listen(port);
    const connecting = rejection(device.cm.connect({ address: THEIRS, port, qp: side.qp }));
    const { ourEnd } = await connectSides(cable);
    const waits = [side.cq.next(), side.qp.events.next(), device.cm.listen(freshPort()).next()];
    plantBug(ours);
    if (device instanceof WorkerDevice) device.stack.channel.wake();
    expect(await ours.closed).toMatchObject({
      code: 'ERR_ROCE_CLOSED',
      message: `${ours.link.name}: its worker thread failed: cannot post a send in state RESET`,
      cause: { code: 'ERR_ROCE_STATE' },
    });
    expect(await connecting).toBe('ERR_ROCE_CLOSED: the device is closed');
    expect((await Promise.all(waits)).map(({ done }) => done)).toEqual([true, true, true]);
    expect(await ourEnd.closed).toBe('timeout');
    expect(refusal(() => device.allocPd())).toBe('ERR_ROCE_CLOSED: the device is closed');
    expect(refusal(() => side.qp.postRecv({ wrId: 1 }))).toBe('ERR_ROCE_CLOSED: the queue pair is destroyed');
    side.qp.destroy();
    side.pd.deregMr(side.mr);
    device.destroyCq(side.cq);
    side.pd.dealloc();
    await ours.close();
  });

  it('does not hang a call that is waiting for its answer', async () => {
    cable = await openCable('worker');
    const { device } = cable.ours;
    plantBug(cable.ours);
    // The ring is looked into before the call is served.
    expect(refusal(() => device.allocPd())).toBe('ERR_ROCE_CLOSED: the device is closed');
    expect(refusal(() => device.createCq(1))).toBe('ERR_ROCE_CLOSED: the device is closed');
    expect((await cable.ours.closed)?.message).toMatch(/its worker thread failed/);
  });

  it('and whoever frees or closes meanwhile is not bothered', async () => {
    cable = await openCable('worker');
    const side = makeSide(cable.ours.device);
    plantBug(cable.ours);
    side.qp.destroy();
    side.pd.deregMr(side.mr);
    cable.ours.device.destroyCq(side.cq);
    side.pd.dealloc();
    await cable.ours.close();
  });
});

describe('a worker that is killed', () => {
  it('is a device that has closed', async () => {
    const { opened, worker } = await watched(() => openCable('worker'));
    cable = opened;
    const { ours, theirs } = await connectSides(cable);
    ours.qp.postRecv({ wrId: 1, sges: [{ mr: ours.mr }] });
    theirs.qp.postSend({ wrId: 2, opcode: WrOpcode.Send });
    await until(() => ours.cq.length === 1);
    const before = cable.ours.device.portCounters.rcvdPkts;
    await worker.terminate();
    expect(await cable.ours.closed).toMatchObject({
      code: 'ERR_ROCE_CLOSED',
      message: `${cable.ours.link.name}: its worker thread has ended`,
    });
    // What had come is still there.
    expect((await ours.cq.next()).value?.wrId).toBe(1);
    expect((await ours.cq.next()).done).toBe(true);
    expect(cable.ours.device.portCounters.rcvdPkts).toBe(before);
  });
});

describe('the thread', () => {
  it('ends with close', async () => {
    const { opened, worker } = await watched(() => openCable('worker'));
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    await opened.close();
    expect(await ended).toBe(0);
  });

  it('ends when the wire is gone', async () => {
    cable = await openCable('application');
    await cable.theirs.close();
    const link = `${cable.ours.link.name},connect`;
    const { opened, worker } = await watched(() => openPlaced('worker', { link, addresses: ['10.0.0.2/24'] }));
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    await cable.ours.close();
    expect(await ended).toBe(0);
    expect((await opened.closed)?.code).toBe('ERR_ROCE_CLOSED');
  });

  it('ends when there is no wire to be had', async () => {
    const options = { link: 'qemu:/nowhere/at.all,connect', addresses: ['10.0.0.1/24'] };
    const { opened, worker } = await watched(() => rejection(openPlaced('worker', options)));
    expect(opened).toMatch(/^ERR_ROCE_LINK_UNAVAILABLE/);
    expect(await new Promise((resolve) => worker.once('exit', resolve))).toBe(0);
  });

  it('keeps a process that has closed its device no longer', () => {
    const script = `
      import { openDevice } from ${JSON.stringify(fileURLToPath(new URL('../../../src/index.ts', import.meta.url)))};
      const { device, close } = await openDevice({ link: 'qemu:' + process.argv[1], addresses: ['10.0.0.1/24'], thread: 'worker' });
      const cq = device.createCq(4);
      void cq.next().then(({ done }) => console.log('done', done));
      void close();
    `;
    const path = `/tmp/roce-worker-${process.pid}.sock`;
    const args = ['--import', import.meta.resolve('tsx'), '--input-type=module', '--eval', script, path];
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect({ stdout, stderr, status }).toEqual({ stdout: 'done true\n', stderr: '', status: 0 });
  });
});
