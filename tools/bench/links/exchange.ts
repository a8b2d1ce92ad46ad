/**
 * The messages of reads over NVMe, by bare verbs: a SEND that asks for bytes, a WRITE of them, a SEND that says so.
 * What is measured of them is what NVMe could reach on this link if it cost nothing. Owns the message that asks, and
 * both ends of the exchange on a session.
 */
import type { Qp } from 'rocev2';
import { type MemoryRegion, WcOpcode, type WorkCompletion, WrOpcode } from 'rocev2/transport';
import {
  type Amount,
  COMMAND_BYTES,
  DISK_BLOCK_BYTES,
  DISK_READ_BYTES,
  type DiskTask,
  type ExchangeTask,
  type Figures,
  LARGE_OUTSTANDING,
  MESSAGE_BYTES,
  MESSAGE_SLOTS,
  RESPONSE_BYTES,
  SMALL_OUTSTANDING,
} from './protocol.ts';
import { Interval, Samples } from './samples.ts';

/** The first byte of a message that asks for bytes; echoes begin with others. */
const ASKS = 0x3f;
const LENGTH_AT = 4;
const ADDRESS_AT = 8;
const KEY_AT = 16;
const OFFSET_AT = 20;
const REGION_BYTES = MESSAGE_BYTES * MESSAGE_SLOTS;
/** WRITEs that leave together, as the target of NVMe has it. */
const BATCH_BYTES = 15 * 4096;

/** What both ends need of their session. */
export interface ExchangeSession {
  readonly qp: Qp;
  readonly region: MemoryRegion;
  send(message: Uint8Array): void;
  postReceive(slot: number): void;
  completions(each: (wc: WorkCompletion) => void): Promise<void>;
}

export function isExchange(task: DiskTask | ExchangeTask): task is ExchangeTask {
  return task.startsWith('exchange');
}

/** The end that is asked. */
export class ExchangeServer {
  readonly #session: ExchangeSession;
  readonly #response = new Uint8Array(RESPONSE_BYTES);
  /** Data that was written since the last responses, and how many these are. */
  #bytes = 0;
  #responses = 0;

  constructor(session: ExchangeSession) {
    this.#session = session;
  }

  /** Whether the message asks for bytes; they are written then, and `flush` tells so. */
  takes(message: Uint8Array): boolean {
    if (message.length !== COMMAND_BYTES || message[0] !== ASKS) return false;
    const view = new DataView(message.buffer, message.byteOffset, message.length);
    const length = view.getUint32(LENGTH_AT);
    if (this.#bytes + length > BATCH_BYTES) this.flush();
    const { qp, region } = this.#session;
    qp.postSend({
      wrId: 0,
      opcode: WrOpcode.RdmaWrite,
      sges: [{ mr: region, offset: view.getUint32(OFFSET_AT), length }],
      remoteAddr: view.getBigUint64(ADDRESS_AT),
      rkey: view.getUint32(KEY_AT),
      signaled: false,
    });
    this.#bytes += length;
    this.#responses += 1;
    return true;
  }

  flush(): void {
    for (; this.#responses > 0; this.#responses--) this.#session.send(this.#response);
    this.#bytes = 0;
  }
}

/** The end that asks. */
export async function runExchange(session: ExchangeSession, task: ExchangeTask, amount: Amount): Promise<Figures> {
  switch (task) {
    case 'exchangeGoodput':
      return { goodput: (await exchanges(session, amount, DISK_READ_BYTES, LARGE_OUTSTANDING)) * DISK_READ_BYTES };
    case 'exchangeRate':
      return { rate: await exchanges(session, amount, DISK_BLOCK_BYTES, SMALL_OUTSTANDING) };
    case 'exchangeRoundTrip':
      return oneByOne(session, amount);
  }
}

/** Exchanges a second, of `bytes` each from a place at random, `outstanding` at a time. */
async function exchanges(session: ExchangeSession, { seconds, least }: Amount, bytes: number, outstanding: number) {
  const clock = new Interval(seconds);
  let begun = 0;
  let ended = 0;
  const ask = (): void => {
    askFor(session, bytes, (begun++ % outstanding) * bytes);
  };
  while (begun < outstanding) ask();
  while (ended < begun) {
    await session.completions(({ opcode, wrId }) => {
      if (opcode !== WcOpcode.Recv) return;
      session.postReceive(wrId);
      ended += 1;
      clock.tick(1);
      if (clock.running || begun < least) ask();
    });
  }
  return clock.rate;
}

async function oneByOne(session: ExchangeSession, { seconds, least }: Amount): Promise<Figures> {
  const samples = new Samples();
  const until = performance.now() + seconds * 1000;
  let ended = false;
  while (samples.count < least || performance.now() < until) {
    ended = false;
    const began = performance.now();
    askFor(session, DISK_BLOCK_BYTES, 0);
    while (!ended) {
      await session.completions(({ opcode, wrId }) => {
        if (opcode !== WcOpcode.Recv) return;
        samples.add(performance.now() - began);
        session.postReceive(wrId);
        ended = true;
      });
    }
  }
  return samples.figures();
}

/** Asks for bytes from a place at random of the server's region, to a place of ours. */
function askFor(session: ExchangeSession, bytes: number, to: number): void {
  const message = new Uint8Array(COMMAND_BYTES);
  const view = new DataView(message.buffer);
  const { region } = session;
  view.setUint8(0, ASKS);
  view.setUint32(LENGTH_AT, bytes);
  view.setBigUint64(ADDRESS_AT, region.iova + BigInt(to));
  view.setUint32(KEY_AT, region.rkey);
  const places = (REGION_BYTES - bytes) / DISK_BLOCK_BYTES + 1;
  view.setUint32(OFFSET_AT, Math.floor(Math.random() * places) * DISK_BLOCK_BYTES);
  session.send(message);
}
