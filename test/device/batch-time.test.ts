/**
 * Goal: time goes on while a batch is handled, and nothing minds. Method: two devices on a clock that moves with every
 * look at it, their frames handed over by hand, the last of each batch first: data of a new connection overtakes its
 * RTU.
 */
import { expect, it } from 'vitest';
import { FrameWriter } from '../../packets/frame-writer.ts';
import {
  type Connection,
  Device,
  IpPrefix,
  Medium,
  parseMac,
  WcStatus,
  WorkCompletion,
  WrOpcode,
} from '../../src/index.ts';
import { makeSide, PORT } from './support.ts';

let time = 0;

function openDevice(n: number): Device {
  let random = n;
  return new Device({
    host: { now: () => ++time, wake: () => {} },
    random: { u32: () => (random = (random * 69_069 + 1) >>> 0) },
    medium: Medium.Ip,
    mac: parseMac(`02:00:00:00:00:0${n}`),
    addresses: [IpPrefix.parse(`10.0.0.${n}/24`)],
    mtu: 1500,
  });
}

/** What `from` has to send arrives at `to` in one batch, last frame first; returns the number of frames. */
function passReversed(from: Device, to: Device): number {
  const writer = new FrameWriter(16, 2000);
  from.transmit(writer);
  const { bytes, view, count } = writer;
  const starts = writer.starts.slice(0, count).reverse();
  const lengths = writer.lengths.slice(0, count).reverse();
  to.receive({ bytes, view, starts, lengths, count });
  return count;
}

it('takes data and then the RTU that it overtook, out of one batch', async () => {
  const [a, b] = [openDevice(1), openDevice(2)];
  const left = makeSide(a, 64);
  const right = makeSide(b, 64);
  const listener = b.cm.listen(PORT);
  const accepting: Promise<Connection> = listener.next().then(({ value }) => {
    right.qp.modifyNow({ state: 1, access: 0 });
    right.qp.postRecv({ wrId: 1, sges: [{ mr: right.mr }] });
    return value.accept({ qp: right.qp });
  });
  const connecting = a.cm.connect({ address: '10.0.0.2', port: PORT, qp: left.qp });
  let connected = false;
  void connecting.then(() => {
    connected = true;
  });
  while (!connected) {
    passReversed(a, b);
    await new Promise((resolve) => setImmediate(resolve));
    passReversed(b, a);
    await new Promise((resolve) => setImmediate(resolve));
  }
  left.qp.postSend({ wrId: 2, opcode: WrOpcode.Send, inline: Uint8Array.of(1) });
  expect(passReversed(a, b)).toBe(2);
  const completion = new WorkCompletion();
  expect(right.cq.poll(completion)).toBe(true);
  expect(completion.status).toBe(WcStatus.Success);
  await accepting;
});
