/**
 * A peer of rping, the ping of RDMA that comes with rdmacm-utils: either end may be the real one.
 *
 *   npx tsx examples/rping.ts                                    both ends, on a simulated network
 *
 *   npx tsx examples/rping.ts --link qemu:/tmp/wire.sock --ip 10.77.0.1/24                          server, for
 *   npm run roce -- lab run --net /tmp/wire.sock --ip 10.77.0.2/24 -- rping -c -a 10.77.0.1 -v -C 3
 *
 * and with `--connect 10.77.0.2` the client of an `rping -s`. The exchange, which repeats for every ping:
 *
 *   client SENDs address, key and length of its ping  ->  server READs it, SENDs "go ahead"
 *   client SENDs the same of an empty buffer          ->  server WRITEs the ping into it, SENDs "go ahead"
 */
import {
  Access,
  type MemoryRegion,
  QpState,
  type RdmaCq,
  type RdmaDevice,
  type RdmaQp,
  WcStatus,
  WrOpcode,
} from 'rocev2';
import { completed, runEnds } from './support.ts';

const PORT = 7174;
const PING_BYTES = 64;
const PINGS = 3;
/** Address (8 bytes), key (4), length (4), big-endian. */
const MESSAGE_BYTES = 16;
const LENT = Access.LocalWrite | Access.RemoteRead | Access.RemoteWrite;

/** One end: its queue pair, the ping it lends or fetches, and the memory that messages arrive in. */
class End {
  readonly qp: RdmaQp;
  readonly ping: MemoryRegion;
  readonly #sent: RdmaCq;
  readonly #received: RdmaCq;
  readonly #inbox: MemoryRegion;

  constructor(device: RdmaDevice) {
    const pd = device.allocPd();
    this.ping = pd.regMr(PING_BYTES, { access: LENT });
    this.#inbox = pd.regMr(MESSAGE_BYTES);
    this.#sent = device.createCq(16);
    this.#received = device.createCq(16);
    this.qp = pd.createQp({ sendCq: this.#sent, recvCq: this.#received });
    this.qp.modifyNow({ state: QpState.Init, access: LENT });
    this.#expect();
  }

  /** SENDs where our ping is. The server's "go ahead" has the same length, and its content means nothing. */
  tell(): void {
    const message = new DataView(new ArrayBuffer(MESSAGE_BYTES));
    message.setBigUint64(0, this.ping.iova);
    message.setUint32(8, this.ping.rkey);
    message.setUint32(12, this.ping.length);
    this.qp.postSend({ wrId: 0, opcode: WrOpcode.Send, inline: new Uint8Array(message.buffer), signaled: false });
  }

  /** Waits for the peer's message; undefined when it has disconnected. */
  async hear(): Promise<{ remoteAddr: bigint; rkey: number } | undefined> {
    const { value } = await this.#received.next();
    if (value?.status !== WcStatus.Success) return undefined;
    const { view } = this.#inbox;
    const told = { remoteAddr: view.getBigUint64(0), rkey: view.getUint32(8) };
    this.#expect();
    return told;
  }

  /** READs the peer's buffer into our ping, or WRITEs our ping there. */
  async move(opcode: WrOpcode, remote: { remoteAddr: bigint; rkey: number }): Promise<void> {
    this.qp.postSend({ wrId: 0, opcode, sges: [{ mr: this.ping }], ...remote });
    await completed(this.#sent);
  }

  /** The text in our ping, which ends with a zero byte. */
  text(): string {
    return new TextDecoder().decode(this.ping.bytes.subarray(0, this.ping.bytes.indexOf(0)));
  }

  #expect(): void {
    this.qp.postRecv({ wrId: 0, sges: [{ mr: this.#inbox }] });
  }
}

async function server(device: RdmaDevice): Promise<void> {
  const end = new End(device);
  const listener = device.cm.listen(PORT);
  console.log(`server: waiting on port ${PORT}`);
  for await (const request of listener) {
    listener.close();
    await request.accept({ qp: end.qp });
    for (let source = await end.hear(); source !== undefined; source = await end.hear()) {
      await end.move(WrOpcode.RdmaRead, source);
      console.log(`server: ${end.text()}`);
      end.tell();
      const sink = await end.hear();
      if (sink === undefined) return;
      await end.move(WrOpcode.RdmaWrite, sink);
      end.tell();
    }
  }
}

async function client(device: RdmaDevice, address: string): Promise<void> {
  const end = new End(device);
  const connection = await device.cm.connect({ address, port: PORT, qp: end.qp });
  for (let ping = 0; ping < PINGS; ping++) {
    const sent = `rdma-ping-${ping}: ${'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.slice(ping)}`;
    end.ping.bytes.fill(0).set(new TextEncoder().encode(sent));
    end.tell();
    await end.hear(); // the server has read it
    end.ping.bytes.fill(0);
    end.tell();
    await end.hear(); // and has written it back
    console.log(`client: ${end.text()}${end.text() === sent ? '' : ' is not what was sent'}`);
  }
  await connection.disconnect();
}

await runEnds({ server, client });
