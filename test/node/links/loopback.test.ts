/**
 * Goal: programs that share one device talk to each other through it. Method: a device that connects to itself, over
 * both IP versions, reliably and by datagrams, with more data than the link holds at a time.
 */
import { describe, expect, it } from 'vitest';
import { Frame, FrameStatus, Medium, parseFrame } from '../../../packets/frame.ts';
import { FrameWriter } from '../../../packets/frame-writer.ts';
import { icrcMatches } from '../../../packets/icrc.ts';
import type { PathObserver } from '../../../src/faults/path.ts';
import { openDevice, QpState, type RdmaDevice, WcStatus, WrOpcode } from '../../../src/index.ts';
import type { FaultOptions } from '../../../src/node/links/fault-link.ts';
import { LoopbackLink, openLink } from '../../../src/node/links/index.ts';

const LINK = 'loopback:10.0.0.1/24+fd00::1/64';
const BYTES = 1_000_000;
/** A rule that takes every frame through the engine, and changes none. */
const NEVER: FaultOptions['rules'] = [{ on: { opcode: 'cnp' }, do: 'drop' }];

/** A WRITE from the device to itself: whether every byte arrived. */
async function writeToSelf(device: RdmaDevice, address: string): Promise<boolean> {
  const port = 7471;
  const pd = device.allocPd();
  const [source, target] = [pd.regMr(BYTES), pd.regMr(BYTES, { access: 3 })];
  source.bytes.forEach((_, at) => {
    source.bytes[at] = at * 7;
  });
  const cq = device.createCq(16);
  const [ours, theirs] = [pd.createQp({ sendCq: cq, recvCq: cq }), pd.createQp({ sendCq: cq, recvCq: cq })];
  for (const qp of [ours, theirs]) qp.modifyNow({ state: QpState.Init, access: 3 });
  const listener = device.cm.listen(port);
  const accepting = (async () => {
    for await (const request of listener) return request.accept({ qp: theirs });
    throw new Error('nobody came');
  })();
  const connection = await device.cm.connect({ address, port, qp: ours });
  await accepting;
  ours.postSend({
    wrId: 1,
    opcode: WrOpcode.RdmaWrite,
    sges: [{ mr: source }],
    remoteAddr: target.iova,
    rkey: target.rkey,
  });
  const { value } = await cq.next();
  listener.close();
  await connection.disconnect();
  return value?.status === WcStatus.Success && Buffer.compare(source.bytes, target.bytes) === 0;
}

describe('loopback', () => {
  it.each(['10.0.0.1', 'fd00::1'])('brings what is sent to %s back', async (address) => {
    const { device, close } = await openDevice({ link: LINK });
    expect(device.activeMtu).toBe(4096);
    expect(await writeToSelf(device, address)).toBe(true);
    await close();
  });

  it('needs no ICRC, but where frames are seen or may be damaged', async () => {
    const seen: boolean[] = [];
    const frame = (_: number, __: string, bytes: Uint8Array, start: number, end: number): void => {
      const parsed = new Frame();
      const view = new DataView(bytes.buffer);
      if (parseFrame(bytes, view, start, end, Medium.Ip, parsed) === FrameStatus.Ok) seen.push(icrcMatches(parsed));
    };
    const offloaded: boolean[] = [];
    for (const more of [{}, { captureSink: { frame } }, { faults: {} }, { faults: { rules: NEVER } }]) {
      const { device, close } = await openDevice({ link: LINK, ...more });
      offloaded.push(device.icrcOffload);
      expect(await writeToSelf(device, '10.0.0.1')).toBe(true);
      await close();
    }
    expect(offloaded).toEqual([true, false, true, false]);
    expect([seen.length > BYTES / 4096, seen.every(Boolean)]).toEqual([true, true]);
  });

  it('drops what is damaged on the way, and what was meant arrives', async () => {
    const corrupt: FaultOptions = { rules: [{ on: { opcode: 'write', psn: 2 }, do: 'corrupt', times: 1 }] };
    const { device, close } = await openDevice({ link: LINK, faults: corrupt });
    expect(await writeToSelf(device, '10.0.0.1')).toBe(true);
    expect(device.counters.badIcrc).toBe(1);
    await close();
  });

  it('shows whole packets to who observes its faults, of which there are none', async () => {
    const whole: boolean[] = [];
    const entered: PathObserver['entered'] = (_, __, ___, bytes, start, end) => {
      const parsed = new Frame();
      const view = new DataView(bytes.buffer, bytes.byteOffset);
      if (parseFrame(bytes, view, start, end, Medium.Ip, parsed) === FrameStatus.Ok) whole.push(icrcMatches(parsed));
    };
    const { device, close } = await openDevice({
      link: LINK,
      faults: { observer: { entered, left: () => undefined } },
    });
    expect(await writeToSelf(device, '10.0.0.1')).toBe(true);
    expect([device.icrcOffload, whole.length > BYTES / 4096, whole.every(Boolean)]).toEqual([false, true, true]);
    await close();
  });

  it('is captured once for each frame', async () => {
    let seen = 0;
    const directions = new Set<string>();
    const frame = (_: number, direction: string): void => {
      seen++;
      directions.add(direction);
    };
    const { device, close } = await openDevice({ link: LINK, captureSink: { frame } });
    expect(await writeToSelf(device, '10.0.0.1')).toBe(true);
    expect([seen, [...directions]]).toEqual([device.counters.receivedFrames, ['out']]);
    await close();
  });

  it('takes what it has room for, says when there is more, and delivers nothing after its end', async () => {
    const link = new LoopbackLink(['10.0.0.1/24'], 1500);
    let received = 0;
    let writable = 0;
    const full = new Promise<void>((resolve) => {
      void link.start({
        receive: ({ count }) => {
          received += count;
        },
        writable: () => {
          writable++;
          resolve();
        },
        closed: () => undefined,
      });
    });
    await Promise.resolve();
    const batch = new FrameWriter(100, 1500);
    batch.count = 100;
    batch.lengths.fill(60);
    const taken = link.send(batch, 0);
    expect([taken, received]).toEqual([64, 0]);
    await full;
    expect([received, writable]).toEqual([64, 1]);
    link.send(batch, 64);
    await link.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(received).toBe(64);
  });

  it.each([
    ['loopback:10.0.0.1', /prefix/],
    ['loopback:10.0.0.1/24+', /loopback:IP/],
    ['loopback:10.0.0.1/24,mtu=20', /mtu must be/],
    ['loopback:', /nothing after the colon/],
  ])('refuses %s', (text, message) => {
    expect(() => openLink(text)).toThrow(message);
  });
});
