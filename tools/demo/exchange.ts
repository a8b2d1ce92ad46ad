/**
 * The demo's two applications: A connects to B and does every operation of a reliable connection, B offers its memory.
 * Owns devices, buffers and the checks of every byte. Never looks at the wire and never prints.
 */

import { attachDevice, type Connection, type Cq, type Device, type Qp, type World } from 'rocev2';
import {
  Access,
  type MemoryRegion,
  type Random,
  type SendWr,
  type WorkCompletion,
  WrOpcode,
  wcStatusName,
} from 'rocev2/transport';

export const OPERATIONS = ['SEND', 'WRITE', 'WRITE with immediate', 'READ', 'COMPARE & SWAP', 'FETCH & ADD'] as const;
export type DemoOperation = (typeof OPERATIONS)[number];

/** One message: what it was and whether the bytes that arrived are those that were sent. */
export interface Transfer {
  readonly operation: DemoOperation;
  readonly bytes: number;
  /** A sentence for each fault; empty when every byte is right. */
  readonly faults: readonly string[];
}

export interface DemoSide {
  readonly device: Device;
  readonly qp: Qp;
  readonly sendCq: Cq;
  readonly recvCq: Cq;
  /** Where messages leave from. */
  readonly source: MemoryRegion;
  /** Where messages arrive. */
  readonly sink: MemoryRegion;
}

/** The two sides, connected. */
export interface DemoPair {
  readonly a: DemoSide;
  readonly b: DemoSide;
  readonly connection: Connection;
  /** The addresses and keys of B's memory, which A got when B accepted. */
  readonly offer: Offer;
}

interface Offer {
  readonly sink: RemoteMemory;
  readonly source: RemoteMemory;
}

interface RemoteMemory {
  readonly remoteAddr: bigint;
  readonly rkey: number;
}

/**
 * Called with the memory that a transfer has filled, before it is checked: a test damages a byte here, which the check
 * must find.
 */
export type Tamper = (memory: Uint8Array, operation: DemoOperation) => void;

/** Makes the two devices and connects them through their connection managers. */
export async function connectPair(world: World, mtu: number, maxSize: number): Promise<DemoPair> {
  const a = makeSide(world, 'A', 1, maxSize);
  const b = makeSide(world, 'B', 2, maxSize);
  const listener = b.device.cm.listen(PORT);
  const accepted = listener.next().then(({ value }) => value?.accept({ qp: b.qp, privateData: encodeOffer(b) }));
  const connection = await a.device.cm.connect({
    address: ADDRESS_OF_B,
    port: PORT,
    qp: a.qp,
    mtu,
    ackTimeout: ACK_TIMEOUT_CODE,
  });
  await accepted;
  listener.close();
  return { a, b, connection, offer: decodeOffer(connection.privateData) };
}

/**
 * Does every operation with every size, one message after the other, and the atomics. Stops at the first that fails to
 * complete.
 */
export async function* transferAll(
  pair: DemoPair,
  sizes: readonly number[],
  random: Random,
  tamper: Tamper = () => {},
): AsyncGenerator<Transfer> {
  for (const operation of ['SEND', 'WRITE', 'WRITE with immediate', 'READ'] as const) {
    for (const size of sizes) yield await transfer(pair, operation, size, random, tamper);
  }
  yield* swapTwice(pair, random, tamper);
  yield* addTwice(pair, random, tamper);
}

async function transfer(
  pair: DemoPair,
  operation: DemoOperation,
  size: number,
  random: Random,
  tamper: Tamper,
): Promise<Transfer> {
  const { a, b, offer } = pair;
  const reading = operation === 'READ';
  const from = reading ? b.source : a.source;
  const to = reading ? a.sink : b.sink;
  fill(from.view, size, random);
  to.bytes.fill(UNTOUCHED, 0, size + GUARD_BYTES);
  const immData = random.u32();
  const received =
    operation === 'SEND' || operation === 'WRITE with immediate' ? expectMessage(b, operation) : undefined;
  const local = reading ? a.sink : a.source;
  const wr = { wrId: 1, sges: [{ mr: local, length: size }], ...(reading ? offer.source : offer.sink), immData };
  const sent = await complete(a, { ...wr, opcode: WR_OPCODES[operation] });
  const faults = sent === '' ? [] : [sent];
  if (sent === '' && received !== undefined) faults.push(...checkReceive(await received, operation, size, immData));
  tamper(to.bytes, operation);
  faults.push(...checkBytes(from.bytes, to.bytes, size));
  return { operation, bytes: size, faults };
}

/** A compare that holds and one that does not. */
async function* swapTwice(pair: DemoPair, random: Random, tamper: Tamper): AsyncGenerator<Transfer> {
  const word = u64(random);
  const fresh = u64(random);
  pair.b.sink.view.setBigUint64(0, word, true);
  for (const [compare, before, after] of [
    [word, word, fresh],
    [word, fresh, fresh],
  ] as const) {
    yield await atomic(pair, 'COMPARE & SWAP', { compareAdd: compare, swap: fresh }, before, after, tamper);
  }
}

/** An addition, and one that wraps around. */
async function* addTwice(pair: DemoPair, random: Random, tamper: Tamper): AsyncGenerator<Transfer> {
  let word = u64(random);
  pair.b.sink.view.setBigUint64(0, word, true);
  for (const addend of [1n, U64_MAX]) {
    const sum = BigInt.asUintN(64, word + addend);
    yield await atomic(pair, 'FETCH & ADD', { compareAdd: addend }, word, sum, tamper);
    word = sum;
  }
}

async function atomic(
  pair: DemoPair,
  operation: DemoOperation,
  operands: Partial<SendWr>,
  before: bigint,
  after: bigint,
  tamper: Tamper,
): Promise<Transfer> {
  const { a, b, offer } = pair;
  const wr = { wrId: 1, sges: [{ mr: a.sink, length: 8 }], ...offer.sink, ...operands };
  const sent = await complete(a, { ...wr, opcode: WR_OPCODES[operation] });
  tamper(b.sink.bytes, operation);
  const faults = sent === '' ? [] : [sent];
  const original = a.sink.view.getBigUint64(0, true);
  const result = b.sink.view.getBigUint64(0, true);
  if (original !== before) faults.push(`the original value came back as ${original}, it was ${before}`);
  if (result !== after) faults.push(`B's memory holds ${result}, it should hold ${after}`);
  return { operation, bytes: 8, faults };
}

function makeSide(world: World, name: string, number: number, maxSize: number): DemoSide {
  const device = attachDevice(world, name, { addresses: [`10.0.0.${number}/24`], mtu: LINK_MTU });
  const pd = device.allocPd();
  const sendCq = device.createCq(CQ_ENTRIES);
  const recvCq = device.createCq(CQ_ENTRIES);
  const access = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic;
  const [source, sink] = [maxSize, maxSize + GUARD_BYTES].map((bytes) => pd.regMr(Math.max(8, bytes), { access }));
  if (source === undefined || sink === undefined) throw new TypeError('two regions were registered');
  return { device, qp: pd.createQp({ sendCq, recvCq }), sendCq, recvCq, source, sink };
}

/** Posts a receive and gives its completion. */
function expectMessage(side: DemoSide, operation: DemoOperation): Promise<WorkCompletion | undefined> {
  // WRITE with immediate takes a receive for its notice; the data goes where the request says.
  side.qp.postRecv({ wrId: 2, sges: operation === 'SEND' ? [{ mr: side.sink }] : [] });
  return side.recvCq.next().then(({ value }) => value);
}

/** Posts a request and waits; empty when it succeeded, else a sentence. */
async function complete(side: DemoSide, wr: SendWr): Promise<string> {
  side.qp.postSend(wr);
  const { value: wc } = await side.sendCq.next();
  return wc?.status === 0 ? '' : `the request ended with "${wcStatusName(wc?.status ?? -1)}"`;
}

function checkReceive(
  wc: WorkCompletion | undefined,
  operation: DemoOperation,
  size: number,
  immData: number,
): string[] {
  if (wc?.status !== 0) return [`the receive ended with "${wcStatusName(wc?.status ?? -1)}"`];
  const faults: string[] = [];
  if (wc.byteLen !== size) faults.push(`the completion of the receiver says ${wc.byteLen} bytes instead of ${size}`);
  const expected = operation === 'SEND' ? -1 : immData;
  if (wc.immData !== expected) faults.push(`the immediate data is ${wc.immData} instead of ${expected}`);
  return faults;
}

/** Every byte of the message, and that none behind it was touched. */
function checkBytes(from: Uint8Array, to: Uint8Array, size: number): string[] {
  const faults: string[] = [];
  if (Buffer.compare(from.subarray(0, size), to.subarray(0, size)) !== 0) {
    const at = from.findIndex((byte, index) => byte !== to[index]);
    faults.push(`byte ${at} of ${size} is ${to[at]}, it should be ${from[at]}`);
  }
  if (to.subarray(size, size + GUARD_BYTES).some((byte) => byte !== UNTOUCHED)) {
    faults.push(`bytes behind the ${size} of the message were overwritten`);
  }
  return faults;
}

function fill(view: DataView, size: number, random: Random): void {
  let at = 0;
  for (; at + 4 <= size; at += 4) view.setUint32(at, random.u32());
  for (; at < size; at++) view.setUint8(at, random.u32() & 0xff);
}

function u64(random: Random): bigint {
  return (BigInt(random.u32()) << 32n) | BigInt(random.u32());
}

/** Address and key of B's two buffers, as an application of its own would lay them out in the private data. */
function encodeOffer(side: DemoSide): Uint8Array {
  const view = new DataView(new ArrayBuffer(24));
  view.setBigUint64(0, side.sink.iova);
  view.setUint32(8, side.sink.rkey);
  view.setBigUint64(12, side.source.iova);
  view.setUint32(20, side.source.rkey);
  return new Uint8Array(view.buffer);
}

function decodeOffer(bytes: Uint8Array): Offer {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return {
    sink: { remoteAddr: view.getBigUint64(0), rkey: view.getUint32(8) },
    source: { remoteAddr: view.getBigUint64(12), rkey: view.getUint32(20) },
  };
}

const WR_OPCODES: Readonly<Record<DemoOperation, SendWr['opcode']>> = {
  SEND: WrOpcode.Send,
  WRITE: WrOpcode.RdmaWrite,
  'WRITE with immediate': WrOpcode.RdmaWriteWithImm,
  READ: WrOpcode.RdmaRead,
  'COMPARE & SWAP': WrOpcode.AtomicCmpAndSwp,
  'FETCH & ADD': WrOpcode.AtomicFetchAndAdd,
};

const PORT = 7471;
const ADDRESS_OF_B = '10.0.0.2';
/** Room for a path MTU of 4096 and all headers. */
const LINK_MTU = 4200;
const CQ_ENTRIES = 64;
/**
 * 4.096 us * 2^6 is 0.26 ms: long against this wire's round trip, so that it runs out when even a NAK was lost and not
 * before.
 */
const ACK_TIMEOUT_CODE = 6;
const UNTOUCHED = 0xa5;
const GUARD_BYTES = 64;
const U64_MAX = 0xffff_ffff_ffff_ffffn;
