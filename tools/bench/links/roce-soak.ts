/**
 * Full load for long: every piece of the region is written with new data, read back and compared, again and again,
 * while SENDs go both ways beside it. Owns the load and its counts, which can be read at any time.
 */
import { randomFillSync } from 'node:crypto';
import { Access, type MemoryRegion, WcOpcode, type WorkCompletion, WrOpcode } from 'rocev2/transport';
import { MESSAGE_BYTES, type PeerCounters } from './protocol.ts';
import { MAX_SEND_BYTES, type RoceSession } from './roce-session.ts';

/** Pieces under way at a time. */
const SLOTS = 4;
const NOISE_BYTES = 2 * MESSAGE_BYTES;
/** SENDs under way at a time; they queue behind the large messages. */
const SENDS = 16;
/** A prime: no two neighbouring rounds take the same noise. */
const NOISE_STRIDE = 60_013;

export class Soak {
  readonly #session: RoceSession;
  readonly #noise = new Uint8Array(NOISE_BYTES);
  readonly #rounds = new Array<number>(SLOTS).fill(0);
  #readBack: MemoryRegion | undefined;
  #running = false;
  #underWay = 0;
  #written = 0;
  #read = 0;
  #echoes = 0;
  #sends = 0;

  constructor(session: RoceSession) {
    this.#session = session;
  }

  /** @throws Error when what comes back is not what was sent, or work fails */
  async run(seconds: number): Promise<void> {
    randomFillSync(this.#noise);
    const { qp } = this.#session;
    this.#readBack ??= qp.pd.regMr(SLOTS * MESSAGE_BYTES, { access: Access.LocalWrite });
    const until = performance.now() + seconds * 1000;
    this.#running = true;
    for (let slot = 0; slot < SLOTS; slot++) this.#write(slot);
    for (let i = 0; i < SENDS; i++) this.#send();
    while (this.#underWay > 0) {
      await this.#session.completions((wc) => this.#completed(wc));
      this.#running = performance.now() < until;
    }
  }

  counters(): PeerCounters {
    return {
      'soak.writtenBytes': this.#written,
      'soak.readBytes': this.#read,
      'soak.echoes': this.#echoes,
    };
  }

  #completed({ opcode, wrId, byteLen }: WorkCompletion): void {
    if (opcode === WcOpcode.RdmaWrite) {
      this.#written += MESSAGE_BYTES;
      this.#readSlot(wrId);
    } else if (opcode === WcOpcode.RdmaRead) {
      this.#compare(wrId);
    } else if (opcode === WcOpcode.Recv) {
      this.#echoed(wrId, byteLen);
    }
  }

  #write(slot: number): void {
    this.#underWay += 1;
    const { region } = this.#session;
    region.bytes.set(this.#noiseOf(slot), slot * MESSAGE_BYTES);
    this.#session.write(slot, slot * MESSAGE_BYTES, MESSAGE_BYTES);
  }

  #readSlot(slot: number): void {
    const { qp, remoteAddr, rkey } = this.#session;
    const mr = this.#readBack;
    if (mr === undefined) throw new Error('run registers the region');
    const offset = slot * MESSAGE_BYTES;
    qp.postSend({
      wrId: slot,
      opcode: WrOpcode.RdmaRead,
      sges: [{ mr, offset, length: MESSAGE_BYTES }],
      remoteAddr: remoteAddr + BigInt(offset),
      rkey,
    });
  }

  #compare(slot: number): void {
    this.#underWay -= 1;
    const at = slot * MESSAGE_BYTES;
    const back = this.#readBack?.bytes.subarray(at, at + MESSAGE_BYTES) ?? new Uint8Array(0);
    if (Buffer.compare(back, this.#noiseOf(slot)) !== 0)
      throw new Error(`what was read back is not what was written, round ${this.#rounds[slot]} of piece ${slot}`);
    this.#read += MESSAGE_BYTES;
    this.#rounds[slot] = (this.#rounds[slot] ?? 0) + 1;
    if (this.#running) this.#write(slot);
  }

  #send(): void {
    this.#underWay += 1;
    this.#session.send(this.#messageOf(this.#sends++));
  }

  /** Echoes come in the order of the SENDs. */
  #echoed(receive: number, length: number): void {
    this.#underWay -= 1;
    if (Buffer.compare(this.#session.received(receive, length), this.#messageOf(this.#echoes)) !== 0)
      throw new Error(`SEND ${this.#echoes} came back with other data`);
    this.#session.postReceive(receive);
    this.#echoes += 1;
    if (this.#running) this.#send();
  }

  /** What a piece holds in its present round. */
  #noiseOf(slot: number): Uint8Array {
    const round = (this.#rounds[slot] ?? 0) * SLOTS + slot;
    const at = (round * NOISE_STRIDE) % (NOISE_BYTES - MESSAGE_BYTES);
    return this.#noise.subarray(at, at + MESSAGE_BYTES);
  }

  /** Of 1 to `MAX_SEND_BYTES` bytes. */
  #messageOf(send: number): Uint8Array {
    const at = (send * NOISE_STRIDE) % (NOISE_BYTES - MAX_SEND_BYTES);
    return this.#noise.subarray(at, at + 1 + (send % MAX_SEND_BYTES));
  }
}
