/**
 * Goal: a peer that lies gets an error on our socket and nothing else: no throw, no byte that it did not write, no
 * other socket harmed. Method: a peer of bare verbs that connects with private data of its choice and posts any
 * message.
 */
import { describe, expect, it } from 'vitest';
import { Access, type Connection, type Device, type Qp, QpState, RoceError, WrOpcode } from '../../../src/index.ts';
import { RListener, RSocket } from '../../../src/ulp/rsockets/index.ts';
import {
  type ConnData,
  RsCtrl,
  RsOp,
  readConnData,
  rsMessage,
  writeConnData,
  writeSge,
} from '../../../src/ulp/rsockets/protocol.ts';
import { makePair } from '../../device/support.ts';
import { PORT } from './support.ts';

/** A peer on bare verbs. Its list of buffers is at 0x1000, its buffer of 1000 bytes behind it. */
class Liar {
  readonly qp: Qp;
  readonly memory: Uint8Array;
  readonly #key: number;
  connection: Connection | undefined;

  constructor(device: Device) {
    const pd = device.allocPd();
    const cq = device.createCq(64);
    this.qp = pd.createQp({ sendCq: cq, recvCq: cq });
    const region = pd.regMr(2000, { access: Access.LocalWrite | Access.RemoteWrite, iova: 0x1000n });
    this.memory = region.bytes;
    this.#key = region.rkey;
    this.qp.modifyNow({ state: QpState.Init, access: Access.LocalWrite | Access.RemoteWrite });
    for (let i = 0; i < 32; i++) this.qp.postRecv({ wrId: i });
  }

  get data(): ConnData {
    return {
      version: 1,
      bigEndian: false,
      credits: 16,
      iomapSize: 0,
      targetSgl: { addr: 0x1000n, key: this.#key, length: 2 },
      dataBuf: { addr: 0x1100n, key: this.#key, length: 1000 },
    };
  }

  say(message: number, bytes = new Uint8Array(0), to: { addr: bigint; key: number } = { addr: 0n, key: 0 }): void {
    this.qp.postSend({
      wrId: 0,
      opcode: WrOpcode.RdmaWriteWithImm,
      immData: message,
      inline: bytes,
      remoteAddr: to.addr,
      rkey: to.key,
    });
  }
}

interface Meeting {
  readonly world: ReturnType<typeof makePair>['world'];
  readonly liar: Liar;
  readonly socket: RSocket;
  /** Where the liar may write. */
  readonly ours: ConnData;
}

/** Our socket accepts a liar that says of itself what `change` makes of the truth. */
async function meet(change: Partial<ConnData> = {}): Promise<Meeting> {
  const { world, a, b } = makePair();
  const listener = RListener.listen(b, { port: PORT, receiveBuffer: 200, receiveQueue: 16 });
  const liar = new Liar(a);
  const privateData = writeConnData({ ...liar.data, ...change });
  const connecting = a.cm.connect({ address: '10.0.0.2', port: PORT, qp: liar.qp, privateData });
  const [connection, socket] = await world.run(Promise.all([connecting, listener.accept()]));
  liar.connection = connection;
  const ours = readConnData(connection.privateData);
  if (ours === undefined) throw new Error('our private data is ours');
  return { world, liar, socket, ours };
}

const complaintOf = async (promise: Promise<unknown>): Promise<string> => {
  try {
    await promise;
    return 'none';
  } catch (error) {
    if (!(error instanceof RoceError)) throw error;
    return `${error.code}: ${error.message}`;
  }
};

describe('a peer that breaks the protocol', () => {
  it.each<[string, (liar: Liar, ours: ConnData) => void]>([
    ['data it did not write', (liar) => liar.say(rsMessage(RsOp.Data, 10))],
    ['less data than it wrote', (liar, { dataBuf }) => liar.say(rsMessage(RsOp.Data, 3), new Uint8Array(9), dataBuf)],
    [
      'data across the middle',
      (liar, { dataBuf }) => {
        liar.say(rsMessage(RsOp.Data, 60), new Uint8Array(60), dataBuf);
        liar.say(rsMessage(RsOp.Data, 60), new Uint8Array(60), dataBuf);
      },
    ],
    [
      'more messages than it has credits',
      (liar) => {
        for (let i = 0; i < 17; i++) liar.say(rsMessage(RsOp.Data, 0));
      },
    ],
    ['more credits than it has', (liar) => liar.say(rsMessage(RsOp.Sgl, 17))],
    ['a message of a reserved type', (liar) => liar.say((1 << 29) >>> 0)],
    ['a message that never travels', (liar) => liar.say(rsMessage(RsOp.Write, 0))],
    ['a SEND', (liar) => liar.qp.postSend({ wrId: 0, opcode: WrOpcode.SendWithImm, immData: 0 })],
  ])('with %s is told of by the next call', async (_, lie) => {
    const { world, liar, socket, ours } = await meet();
    lie(liar, ours);
    await world.run(world.sleep(1e6));
    const bytes = new Uint8Array(200);
    const read = await world.run(
      complaintOf(
        (async () => {
          while ((await socket.recv(bytes)) > 0);
        })(),
      ),
    );
    expect(read).toContain('ERR_ROCE_STATE: the peer broke the rsocket protocol');
    expect(await world.run(complaintOf(socket.send(bytes)))).toBe(read);
    await world.run(socket.close());
  });

  it('by offering a buffer around the end of memory gets nothing into it', async () => {
    const { world, liar, socket, ours } = await meet({ dataBuf: { addr: 0x1100n, key: 1, length: 0 } });
    const entry = new Uint8Array(16);
    writeSge(new DataView(entry.buffer), 0, { addr: 2n ** 64n - 8n, key: 1, length: 100 }, true);
    liar.say(rsMessage(RsOp.Sgl, 16), entry, { addr: ours.targetSgl.addr, key: ours.targetSgl.key });
    expect(await world.run(complaintOf(socket.send(new Uint8Array(50))))).toContain('beyond the end of memory');
  });

  it('by naming a buffer that is not there fails its own connection', async () => {
    const { world, socket } = await meet({ dataBuf: { addr: 0x1100n, key: 1, length: 1000 } });
    await world.run(socket.send(new Uint8Array(50)));
    expect(await world.run(complaintOf(socket.recv(new Uint8Array(1))))).toContain('remote access error');
  });

  it('by words nobody knows is not minded', async () => {
    const { world, liar, socket, ours } = await meet();
    liar.say(rsMessage(RsOp.Ctrl, RsCtrl.Keepalive));
    liar.say(0xff_ff_ff_ff);
    liar.say(rsMessage(RsOp.IomapSgl, 77));
    liar.say(rsMessage(RsOp.Data, 4), Uint8Array.of(1, 2, 3, 4), ours.dataBuf);
    const bytes = new Uint8Array(9);
    expect(await world.run(socket.recv(bytes))).toBe(4);
    expect(bytes.subarray(0, 4)).toEqual(Uint8Array.of(1, 2, 3, 4));
  });

  it('by leaving without a word fails what waits', async () => {
    const { world, liar, socket } = await meet();
    const waiting = complaintOf(socket.recv(new Uint8Array(1)));
    await world.run(liar.connection?.disconnect() ?? Promise.reject(new Error('connected')));
    expect(await world.run(waiting)).toContain('ERR_ROCE_CLOSED: the peer ended the connection without a word');
    expect(await complaintOf(socket.send(Uint8Array.of(1)))).toContain('ERR_ROCE_CLOSED');
    await world.run(socket.close());
  });
});

describe('a big-endian peer', () => {
  it('is written to in its order', async () => {
    const { world, liar } = await meet({ bigEndian: true });
    await world.run(world.sleep(1e6));
    const view = new DataView(liar.memory.buffer, liar.memory.byteOffset);
    expect([view.getUint32(16 + 12), view.getUint32(16 + 12, true)]).toEqual([100, 100 << 24]);
  });
});

describe('who speaks something else', () => {
  it('is refused, and the next one is taken', async () => {
    const { world, a, b } = makePair();
    const listener = RListener.listen(b, { port: PORT });
    const accepting = listener.accept();
    const stranger = new Liar(a);
    const privateData = writeConnData({ ...stranger.data, version: 2 });
    const connecting = a.cm.connect({ address: '10.0.0.2', port: PORT, qp: stranger.qp, privateData });
    expect(await world.run(complaintOf(connecting))).toContain('ERR_ROCE_REJECTED');
    await world.run(Promise.all([RSocket.connect(a, { address: '10.0.0.2', port: PORT }), accepting]));
    expect(listener.refused).toBe(1);
  });

  it('as a server is left, with what is wrong with it', async () => {
    const { world, a, b } = makePair();
    const listener = b.cm.listen(PORT);
    const stranger = new Liar(b);
    void listener.next().then(({ value }) => value.accept({ qp: stranger.qp, privateData: new Uint8Array(40) }));
    const connecting = complaintOf(RSocket.connect(a, { address: '10.0.0.2', port: PORT }));
    expect(await world.run(connecting)).toBe(
      'ERR_ROCE_REJECTED: the peer does not use the rsocket protocol: its version is 0',
    );
    expect(a.qpCount).toBe(0);
  });
});
