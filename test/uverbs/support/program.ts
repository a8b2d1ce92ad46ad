/**
 * A program on the ABI, as libibverbs and its rxe provider are one: commands with their headers, work requests into
 * rings, completions out of them. Written from the layout of the ABI alone; it shares the tables with the server (which
 * a compiler has checked), and nothing else.
 */
import { expect } from 'vitest';
import { COMMANDS, Command, type CommandName } from '../../../src/uverbs/abi/commands.ts';
import * as Q from '../../../src/uverbs/abi/queues.ts';
import * as R from '../../../src/uverbs/abi/rxe.ts';
import type { Struct } from '../../../src/uverbs/abi/struct.ts';
import * as V from '../../../src/uverbs/abi/verbs.ts';
import type { CommandResult, UverbsFile, UverbsServer } from '../../../src/uverbs/index.ts';
import { TestHost } from './host.ts';

export type Values = Readonly<Record<string, number | bigint | Uint8Array>>;

/** A structure with these members set, the others 0. */
export function fill(layout: Struct, values: Values): Uint8Array {
  const bytes = new Uint8Array(layout.size);
  const view = new DataView(bytes.buffer);
  for (const [name, value] of Object.entries(values)) {
    const at = layout.at[name];
    const size = layout.members[name]?.size;
    if (at === undefined || size === undefined) throw new Error(`${layout.name} has no member ${name}`);
    if (value instanceof Uint8Array) bytes.set(value, at);
    else if (size === 8) view.setBigUint64(at, BigInt(value), true);
    else if (size === 4) view.setUint32(at, Number(value) >>> 0, true);
    else if (size === 2) view.setUint16(at, Number(value), true);
    else view.setUint8(at, Number(value));
  }
  return bytes;
}

/** A member of a structure that lies at `base` of `bytes`. */
export function pick(layout: Struct, bytes: Uint8Array, name: string, base = 0): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const at = base + (layout.at[name] ?? Number.NaN);
  const size = layout.members[name]?.size;
  if (size === 8) return Number(view.getBigUint64(at, true));
  return size === 4 ? view.getUint32(at, true) : size === 2 ? view.getUint16(at, true) : view.getUint8(at);
}

/** A command of the plain form. */
export function plain(name: CommandName, request: Uint8Array, driver: Uint8Array, responseBytes: number): Uint8Array {
  const length = 8 + request.length + driver.length;
  const header = { command: Command[name], in_words: length / 4, out_words: Math.ceil(responseBytes / 4) };
  const bytes = new Uint8Array(length);
  bytes.set(fill(V.CMD_HDR, header));
  bytes.set(request, 8);
  bytes.set(driver, 8 + request.length);
  return bytes;
}

/** A ring as a client maps it. */
export class MappedRing {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly mask: number;
  readonly stride: number;

  constructor(host: TestHost, offset: number, size: number) {
    const ring = host.rings.get(offset);
    expect(ring?.bytes.length).toBe(size);
    this.bytes = ring?.bytes ?? new Uint8Array(0);
    this.view = new DataView(this.bytes.buffer);
    this.mask = this.#u32('index_mask');
    this.stride = 2 ** this.#u32('log2_elem_size');
  }

  get producer(): number {
    return this.#u32('producer_index');
  }

  set producer(value: number) {
    this.view.setUint32(R.RXE_QUEUE_BUF.at.producer_index, value, true);
  }

  get consumer(): number {
    return this.#u32('consumer_index');
  }

  set consumer(value: number) {
    this.view.setUint32(R.RXE_QUEUE_BUF.at.consumer_index, value, true);
  }

  get full(): boolean {
    return ((this.producer + 1 - this.consumer) & this.mask) === 0;
  }

  slot(index: number): number {
    return R.RXE_QUEUE_BUF.size + (index & this.mask) * this.stride;
  }

  /** As the provider puts an entry in; throws ENOMEM where it would return it. */
  put(entry: Uint8Array): void {
    if (this.full) throw new Error('ENOMEM');
    this.bytes.set(entry, this.slot(this.producer));
    this.producer = (this.producer + 1) & this.mask;
  }

  #u32(name: keyof typeof R.RXE_QUEUE_BUF.at): number {
    return this.view.getUint32(R.RXE_QUEUE_BUF.at[name], true);
  }
}

export interface Wc {
  readonly wrId: bigint;
  readonly status: number;
  readonly opcode: number;
  readonly byteLen: number;
  readonly imm: number;
  readonly qpn: number;
  readonly srcQp: number;
  readonly flags: number;
  readonly sl: number;
}

export interface SgeSpec {
  readonly addr: number;
  readonly length: number;
  readonly lkey: number;
}

/** A send work request; what its opcode has beside that goes into `wr`, a part of the union. */
export interface SendSpec {
  readonly wrId?: bigint | number;
  readonly opcode: number;
  /** SIGNALED unless said otherwise. */
  readonly flags?: number;
  /** As it stands in memory: immediate data big-endian, keys little-endian. */
  readonly imm?: number;
  readonly invalidate?: number;
  readonly sges?: readonly SgeSpec[];
  readonly inline?: Uint8Array;
  /** The bytes of an ATOMIC WRITE, which stand where inline data do. */
  readonly atomic?: Uint8Array;
  readonly wr?: Uint8Array;
}

export function sendWqe({
  wrId = 0,
  opcode,
  flags = 2,
  imm,
  invalidate,
  sges = [],
  inline,
  atomic,
  wr,
}: SendSpec): Uint8Array {
  const data = inline ?? atomic ?? new Uint8Array(sges.length * 16);
  if (inline === undefined && atomic === undefined)
    for (const [i, sge] of sges.entries()) data.set(fill(R.RXE_SGE, { ...sge }), i * R.RXE_SGE.size);
  const bytes = new Uint8Array(R.RXE_SEND_WQE.size + data.length);
  const view = new DataView(bytes.buffer);
  const sendFlags = inline === undefined ? flags : flags | 8;
  bytes.set(fill(R.RXE_SEND_WR, { wr_id: wrId, opcode, send_flags: sendFlags, ...(wr === undefined ? {} : { wr }) }));
  if (imm !== undefined) view.setUint32(R.RXE_SEND_WR.at.ex, imm);
  if (invalidate !== undefined) view.setUint32(R.RXE_SEND_WR.at.ex, invalidate, true);
  const length = inline?.length ?? atomic?.length ?? sges.reduce((sum, sge) => sum + sge.length, 0);
  bytes.set(fill(R.RXE_DMA_INFO, { length, resid: length, num_sge: sges.length }), R.RXE_SEND_WQE.at.dma);
  bytes.set(data, R.RXE_SEND_WQE.size);
  return bytes;
}

export interface QpHandle {
  readonly handle: number;
  readonly qpn: number;
  readonly sq: MappedRing;
  readonly rq: MappedRing | undefined;
  readonly response: Uint8Array;
}

export interface CqHandle {
  readonly handle: number;
  ring: MappedRing;
}

export interface MrHandle {
  readonly handle: number;
  readonly lkey: number;
  readonly rkey: number;
  readonly addr: number;
  readonly length: number;
}

const NONE = new Uint8Array(0);

/** An open file of uverbs, and what a program does with it. */
export class Program {
  readonly host: TestHost;
  readonly file: UverbsFile;
  asyncChannel = -1;

  constructor(server: UverbsServer, host = new TestHost()) {
    this.host = host;
    this.file = server.openUverbs(host);
  }

  send(name: CommandName, layout: Struct, values: Values, driver: Uint8Array = NONE, more = 0): Promise<CommandResult> {
    const room = COMMANDS[name].response + more;
    return Promise.resolve(this.file.command(plain(name, fill(layout, values), driver, room)));
  }

  /** A command that succeeds; its response. */
  async ok(
    name: CommandName,
    layout: Struct,
    values: Values,
    driver: Uint8Array = NONE,
    more = 0,
  ): Promise<Uint8Array> {
    const { errno, response } = await this.send(name, layout, values, driver, more);
    expect([name, errno]).toEqual([name, 0]);
    return response;
  }

  /** The errno of a command. */
  async errno(name: CommandName, layout: Struct, values: Values, driver: Uint8Array = NONE, more = 0): Promise<number> {
    return (await this.send(name, layout, values, driver, more)).errno;
  }

  async open(): Promise<this> {
    const response = await this.ok('GET_CONTEXT', V.GET_CONTEXT, {});
    this.asyncChannel = pick(V.GET_CONTEXT_RESP, response, 'async_fd');
    return this;
  }

  async allocPd(): Promise<number> {
    return pick(V.ALLOC_PD_RESP, await this.ok('ALLOC_PD', V.ALLOC_PD, {}), 'pd_handle');
  }

  async regMr(pd: number, length: number, access = 0xf, addr = this.host.memory.alloc(length)): Promise<MrHandle> {
    const values = { start: addr, hca_va: addr, length, pd_handle: pd, access_flags: access };
    const response = await this.ok('REG_MR', V.REG_MR, values);
    const of = (name: string): number => pick(V.REG_MR_RESP, response, name);
    return { handle: of('mr_handle'), lkey: of('lkey'), rkey: of('rkey'), addr, length };
  }

  async createChannel(): Promise<number> {
    const response = await this.ok('CREATE_COMP_CHANNEL', V.CREATE_COMP_CHANNEL, {});
    return pick(V.CREATE_COMP_CHANNEL_RESP, response, 'fd');
  }

  async createCq(cqe = 16, channel = -1, userHandle = 0n): Promise<CqHandle> {
    const values = { cqe, comp_channel: channel, user_handle: userHandle };
    const response = await this.ok('CREATE_CQ', V.CREATE_CQ, values, NONE, R.RXE_CREATE_CQ_RESP.size);
    const ring = this.#map(response, V.CREATE_CQ_RESP.size);
    return { handle: pick(V.CREATE_CQ_RESP, response, 'cq_handle'), ring };
  }

  async createQp(pd: number, cq: CqHandle, values: Values = {}): Promise<QpHandle> {
    const asked: Values = {
      ...{ pd_handle: pd, send_cq_handle: cq.handle, recv_cq_handle: cq.handle, qp_type: 2 },
      ...{ max_send_wr: 8, max_recv_wr: 8, max_send_sge: 2, max_recv_sge: 2, max_inline_data: 64, ...values },
    };
    const response = await this.ok('CREATE_QP', Q.CREATE_QP, asked, NONE, R.RXE_CREATE_QP_RESP.size);
    const driver = Q.CREATE_QP_RESP.size;
    const of = (name: string): number => pick(Q.CREATE_QP_RESP, response, name);
    const rq = asked['is_srq'] === 1 ? undefined : this.#map(response, driver);
    const sq = this.#map(response, driver + R.RXE_CREATE_QP_RESP.at.sq_mi);
    return { handle: of('qp_handle'), qpn: of('qpn'), sq, rq, response };
  }

  async createSrq(pd: number, values: Values = {}): Promise<{ handle: number; ring: MappedRing; srqn: number }> {
    const asked = { pd_handle: pd, max_wr: 7, max_sge: 2, ...values };
    const response = await this.ok('CREATE_SRQ', Q.CREATE_SRQ, asked, NONE, R.RXE_CREATE_SRQ_RESP.size);
    const of = (name: string): number => pick(Q.CREATE_SRQ_RESP, response, name);
    return { handle: of('srq_handle'), ring: this.#map(response, Q.CREATE_SRQ_RESP.size), srqn: of('srqn') };
  }

  /** Maps a ring that a response describes. */
  map(response: Uint8Array, at: number): MappedRing {
    return this.#map(response, at);
  }

  post(qp: QpHandle, spec: SendSpec): void {
    qp.sq.put(sendWqe(spec));
    this.file.doorbell(qp.handle);
  }

  receive(ring: MappedRing | undefined, wrId: bigint | number, sges: readonly SgeSpec[]): void {
    const bytes = new Uint8Array(R.RXE_RECV_WQE.size + sges.length * 16);
    const length = sges.reduce((sum, sge) => sum + sge.length, 0);
    bytes.set(fill(R.RXE_RECV_WQE, { wr_id: wrId }));
    bytes.set(fill(R.RXE_DMA_INFO, { length, resid: length, num_sge: sges.length }), R.RXE_RECV_WQE.at.dma);
    for (const [i, sge] of sges.entries()) bytes.set(fill(R.RXE_SGE, { ...sge }), R.RXE_RECV_WQE.size + i * 16);
    ring?.put(bytes);
  }

  poll({ ring }: CqHandle): Wc | undefined {
    if (ring.producer === ring.consumer) return undefined;
    const at = ring.slot(ring.consumer);
    const of = (name: string): number => pick(V.WC, ring.bytes, name, at);
    const wc = {
      wrId: ring.view.getBigUint64(at, true),
      ...{ status: of('status'), opcode: of('opcode'), byteLen: of('byte_len') },
      imm: ring.view.getUint32(at + V.WC.at.ex),
      ...{ qpn: of('qp_num'), srcQp: of('src_qp'), flags: of('wc_flags'), sl: of('sl') },
    };
    ring.consumer = (ring.consumer + 1) & ring.mask;
    return wc;
  }

  pollAll(cq: CqHandle): Wc[] {
    const list: Wc[] = [];
    for (let wc = this.poll(cq); wc !== undefined; wc = this.poll(cq)) list.push(wc);
    return list;
  }

  /** Takes an event that waits. */
  readEvent(channel: number): Uint8Array | undefined {
    return this.host.events.get(channel)?.shift();
  }

  /** Types of the asynchronous events that wait. */
  asyncEvents(): number[] {
    const events = this.host.events.get(this.asyncChannel)?.splice(0) ?? [];
    return events.map((bytes) => pick(V.ASYNC_EVENT_DESC, bytes, 'event_type'));
  }

  #map(response: Uint8Array, at: number): MappedRing {
    return new MappedRing(this.host, pick(R.MMINFO, response, 'offset', at), pick(R.MMINFO, response, 'size', at));
  }
}
