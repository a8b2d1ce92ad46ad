/**
 * Goal: thousands of connections, many of them at a time, and nothing left of them. Method: virtual time, small queues.
 * One after the other: connection.test.ts.
 */
import { describe, expect, it } from 'vitest';
import { type Device, type Qp, QpState } from '../../../src/index.ts';
import { makePair, PORT } from '../support.ts';

const TOGETHER = 2_000;
const CYCLES = 10_000;

function maker(device: Device): () => Qp {
  const pd = device.allocPd();
  const cq = device.createCq(16);
  return () => pd.createQp({ sendCq: cq, recvCq: cq, maxSendWr: 1, maxRecvWr: 1, maxSge: 1, maxInlineData: 0 });
}

describe('the connection manager', () => {
  it(`makes and ends ${CYCLES} connections, ${TOGETHER} of them open at a time, without a trace left behind`, async () => {
    const { world, a, b } = makePair();
    const makeLeft = maker(a);
    const makeRight = maker(b);
    const listener = b.cm.listen(PORT);
    let open = 0;
    const serve = async (): Promise<void> => {
      for await (const request of listener) {
        const qp = makeRight();
        void request.accept({ qp }).then(({ closed }) => {
          open++;
          void closed.then(() => {
            open--;
            qp.destroy();
          });
        });
      }
    };
    const serving = serve();
    const many = async (): Promise<void> => {
      for (let made = 0; made < CYCLES; made += TOGETHER) {
        const connecting = Array.from({ length: TOGETHER }, () => {
          const qp = makeLeft();
          return a.cm.connect({ address: '10.0.0.2', port: PORT, qp });
        });
        const connections = await Promise.all(connecting);
        expect(connections.filter(({ qp }) => qp.state === QpState.Rts).length).toBe(TOGETHER);
        await Promise.all(connections.map((connection) => connection.disconnect()));
        for (const { qp } of connections) qp.destroy();
      }
      listener.close();
      await serving;
    };
    await world.run(many());
    world.runFor(60e9);
    expect([a.qpCount, b.qpCount, open]).toEqual([0, 0, 0]);
    expect([a.cm.size, b.cm.size]).toEqual([0, 0]);
    expect([a.cm.nextDeadline(), b.cm.nextDeadline()]).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
  });
});
