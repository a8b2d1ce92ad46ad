/**
 * The trace of a device that writes over a wire which loses and marks packets, for tests of the explorer; the same text
 * each time.
 */
import { attachDevice, World, WrOpcode } from '../../../src/index.ts';
import { TraceRecorder } from '../../../src/trace/index.ts';
import { makeSide, PORT } from '../../device/support.ts';

/** The file. */
export async function tracedRun(): Promise<Uint8Array> {
  const world = new World({ seed: 7, latencyNs: 2_000 });
  let text = '';
  const write = (piece: string): void => {
    text += piece;
  };
  const trace = new TraceRecorder({ now: () => world.now, name: 'sender', title: 'a test', write });
  world.network.tap = {
    frame: (now, port, direction, bytes, start, end) => {
      if (port.name === 'a') trace.frame(now, direction, bytes, start, end);
    },
  };
  const congestion = { reaction: { kind: 'dcqcn', profile: 'paper' }, lineRateBps: 10e9 } as const;
  const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'], congestion, trace, faults: { ceMark: 0.2 } });
  const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'], congestion: {} });
  world.network.addRule({ port: 'a', nth: 3, match: ({ payloadLength }) => payloadLength > 512, action: 'drop' });
  const [left, right] = [makeSide(a), makeSide(b)];
  const listener = b.cm.listen(PORT);
  const accepted = listener.next().then(({ value }) => value?.accept({ qp: right.qp }));
  await world.run(a.cm.connect({ address: '10.0.0.2', port: PORT, qp: left.qp }));
  await world.run(accepted);
  const target = { remoteAddr: right.mr.iova, rkey: right.mr.rkey };
  for (let wrId = 0; wrId < 3; wrId++) {
    left.qp.postSend({ wrId, opcode: WrOpcode.RdmaWrite, sges: [{ mr: left.mr }], ...target });
  }
  for (let done = 0; done < 3; done++) await world.run(left.cq.next());
  return new TextEncoder().encode(text);
}
