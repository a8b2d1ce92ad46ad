/**
 * A chat of datagrams (UD): one queue pair talks to everybody, and nobody is connected to anybody.
 *
 *   npx tsx examples/ud-chat.ts
 *   npx tsx examples/ud-chat.ts --loss 0.2       one packet in five is lost
 *
 * Everybody sends to a room, which sends every line on to all it has heard of. A datagram fits one packet, arrives
 * whole or not at all, and there is no retransmission: the room numbers its lines, so that a gap shows. Each
 * send names its destination: an address handle (the way there), a queue pair, and the Q_Key without which that queue
 * pair drops it.
 */
import { parseArgs } from 'node:util';
import { attachDevice, type Device, QpState, QpType, type SendWr, WcStatus, World, WrOpcode } from 'rocev2';

const PORT = 7471;
const QKEY = 0x1234;
/** Every receive begins with 40 bytes of header: from where the datagram came. */
const GRH_BYTES = 40;
const SLOT_BYTES = GRH_BYTES + 256;
const SLOTS = 16;
const LINES = [
  ['ann', 'hello'],
  ['bob', 'hello ann'],
  ['eve', 'what are you two up to?'],
  ['ann', 'RDMA'],
  ['bob', 'without a connection'],
  ['eve', 'I see'],
] as const;

const { loss } = parseArgs({ options: { loss: { type: 'string', default: '0' } } }).values;
const world = new World({ seed: 4 });

/** A queue pair for datagrams, and the slots that they arrive in. */
class Voice {
  readonly device: Device;
  readonly pd;
  readonly qp;
  readonly #received;
  readonly #slots;

  constructor(name: string, address: string) {
    this.device = attachDevice(world, name, { addresses: [`${address}/24`] });
    this.pd = this.device.allocPd();
    this.#slots = this.pd.regMr(SLOTS * SLOT_BYTES);
    this.#received = this.device.createCq(SLOTS);
    this.qp = this.pd.createQp({ type: QpType.Ud, sendCq: this.device.createCq(64), recvCq: this.#received });
    // No peer to agree with: three steps, and it can send and receive.
    this.qp.modifyNow({ state: QpState.Init, qkey: QKEY });
    this.qp.modifyNow({ state: QpState.Rtr });
    this.qp.modifyNow({ state: QpState.Rts, sqPsn: 0 });
    for (let slot = 0; slot < SLOTS; slot++) this.#expect(slot);
  }

  say(text: string, to: Pick<SendWr, 'ah' | 'remoteQpn'>): void {
    const inline = new TextEncoder().encode(text);
    this.qp.postSend({ wrId: 0, opcode: WrOpcode.Send, inline, remoteQkey: QKEY, signaled: false, ...to });
  }

  /** Every datagram that arrives: its text, and what its header and completion say of the way back. */
  async *hear() {
    for await (const wc of this.#received) {
      if (wc.status !== WcStatus.Success) return;
      const start = wc.wrId * SLOT_BYTES;
      const bytes = this.#slots.bytes.slice(start, start + wc.byteLen);
      this.#expect(wc.wrId);
      const wayBack = async () => ({
        ah: await this.pd.createAhFromWc(wc, bytes.subarray(0, GRH_BYTES)),
        remoteQpn: wc.srcQpn,
      });
      yield { text: new TextDecoder().decode(bytes.subarray(GRH_BYTES)), wayBack };
    }
  }

  #expect(slot: number): void {
    this.qp.postRecv({ wrId: slot, sges: [{ mr: this.#slots, offset: slot * SLOT_BYTES, length: SLOT_BYTES }] });
  }
}

async function room(): Promise<void> {
  const voice = new Voice('room', '10.0.0.100');
  voice.device.cm.listenUd(PORT, { qp: voice.qp, qkey: QKEY }); // tells whoever asks for the port which queue pair it is
  const members = new Map<string, Pick<SendWr, 'ah' | 'remoteQpn'>>();
  let line = 0;
  for await (const { text, wayBack } of voice.hear()) {
    const [name = '', words] = text.split(': ', 2);
    if (!members.has(name)) members.set(name, await wayBack());
    if (words === undefined) continue; // somebody came in and has said nothing yet
    line++;
    for (const member of members.values()) voice.say(`${line} ${text}`, member);
  }
}

async function member(name: string, address: string) {
  const voice = new Voice(name, address);
  const found = await voice.device.cm.resolveUd({ address: '10.0.0.100', port: PORT, pd: voice.pd });
  voice.say(name, found);
  void listen(name, voice);
  return { name, say: (text: string) => voice.say(`${name}: ${text}`, found) };
}

async function listen(name: string, voice: Voice): Promise<void> {
  let last = 0;
  for await (const { text } of voice.hear()) {
    const line = Number.parseInt(text, 10);
    if (line > last + 1) console.log(`${name} has missed ${line - last - 1}`);
    last = line;
    if (!text.startsWith(`${line} ${name}:`)) console.log(`${name} hears ${text}`);
  }
}

async function chat(): Promise<void> {
  void room();
  const members = await Promise.all([member('ann', '10.0.0.1'), member('bob', '10.0.0.2'), member('eve', '10.0.0.3')]);
  await world.sleep(1e6);
  world.network.port('room')?.setFaults({ loss: Number(loss) });
  for (const [name, text] of LINES) {
    members.find((one) => one.name === name)?.say(text);
    await world.sleep(1e6); // a millisecond of the simulated time
  }
}

await world.run(chat());
