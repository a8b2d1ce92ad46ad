/**
 * One queue of a host on one connection: commands out, responses in.
 *
 * Owns slots, identifiers, keys and the order in which things are posted. A command's slot is free again when its
 * response has come and its SEND is done. Never sends a command twice: what has no answer when the queue dies is handed
 * back, in the order in which it was sent. The target breaks the protocol with a response to no command, one that is
 * too short, or one that invalidates the wrong key; the queue dies then, as Linux resets its controller
 * (rdma.c#nvme_rdma_process_nvme_rsp).
 */
import { RoceError } from '../../../../packets/errors.ts';
import { Access, type MemoryRegion } from '../../../../transport/memory.ts';
import { WcOpcode, WcStatus, WorkCompletion, WrOpcode, wcStatusName } from '../../../../transport/work.ts';
import type { RdmaConnection, RdmaDevice } from '../../../device/api.ts';
import { COMMAND_BYTES, COMPLETION_BYTES, NvmeCompletion, readCompletion, writeCommand } from '../codec/index.ts';
import { QueueObjects, type QueueShape } from './queue-objects.ts';
import type { HostRequest } from './request.ts';

/** What a queue tells its controller. */
export interface QueueOwner {
  /** A slot is free. */
  slotFreed(queue: HostQueue): void;
  /** The queue is dead; `unanswered` are its commands, first sent first. */
  died(queue: HostQueue, reason: Error, unanswered: readonly HostRequest[]): void;
}

interface Slot {
  readonly index: number;
  readonly region: MemoryRegion;
  request: HostRequest | undefined;
  cid: number;
  /** Changes with each use, so that a response that comes twice or late is not taken for that of the next command. */
  generation: number;
  /** The key that the target has now; -1 for none. */
  key: number;
  sendDone: boolean;
}

export class HostQueue {
  /** 0 the admin queue. */
  readonly qid: number;
  /** Commands outstanding at most. */
  readonly depth: number;
  readonly objects: QueueObjects;
  /** Commands answered. */
  completed = 0;
  readonly #owner: QueueOwner;
  readonly #shape: QueueShape;
  readonly #remoteInvalidate: boolean;
  readonly #slots: Slot[];
  readonly #free: Slot[] = [];
  /** By slot, in the order of sending: a Map keeps it. */
  readonly #outstanding = new Map<number, HostRequest>();
  /** What waits for a slot here, and goes before what waits at the owner. */
  readonly #next: HostRequest[] = [];
  readonly #completion = new NvmeCompletion();
  #connection: RdmaConnection | undefined;
  #dead: Error | undefined;
  #disconnecting: Promise<void> = Promise.resolve();

  /** @throws RoceError ERR_ROCE_LIMIT, ERR_ROCE_CLOSED */
  constructor(device: RdmaDevice, qid: number, shape: QueueShape, remoteInvalidate: boolean, owner: QueueOwner) {
    this.qid = qid;
    this.depth = shape.size - 1;
    this.#shape = shape;
    this.#owner = owner;
    this.#remoteInvalidate = remoteInvalidate;
    this.objects = new QueueObjects(device, shape);
    this.#slots = this.objects.regions.map((region, index) => ({
      index,
      region,
      request: undefined,
      cid: 0,
      generation: 0,
      key: -1,
      sendDone: true,
    }));
    this.#free.push(...this.#slots.toReversed());
  }

  /** Slots that are free. */
  get free(): number {
    return this.#dead === undefined ? this.#free.length : 0;
  }

  /** Commands without answer, first sent first. */
  get outstanding(): Iterable<HostRequest> {
    return this.#outstanding.values();
  }

  /** The connection is there: completions are taken from now on. */
  start(connection: RdmaConnection): void {
    this.#connection = connection;
    void this.#run();
    void connection.closed.then(() => this.kill(new RoceError('ERR_ROCE_CLOSED', 'the target ended the connection')));
  }

  /** Sends a command before all others that wait for a slot, as soon as there is one. */
  sendNext(request: HostRequest): void {
    if (this.#dead !== undefined) request.fail(this.#dead);
    else if (this.#free.length > 0) this.send(request);
    else this.#next.push(request);
  }

  /** Sends a command; a slot has to be free. What cannot be posted kills the queue. */
  send(request: HostRequest): void {
    const slot = this.#free.pop();
    if (slot === undefined) throw new RoceError('ERR_ROCE_QUEUE_FULL', `queue ${this.qid} has no free entry`);
    slot.request = request;
    slot.generation = (slot.generation + 1) & GENERATION_MASK;
    slot.cid = (slot.generation << SLOT_BITS) | slot.index;
    slot.sendDone = false;
    this.#outstanding.set(slot.index, request);
    try {
      this.#post(slot, request);
    } catch (error) {
      if (!(error instanceof RoceError)) throw error;
      this.kill(error);
    }
  }

  /** Ends the connection and frees everything; resolves when the target has answered or does not. */
  async close(): Promise<void> {
    this.kill(new RoceError('ERR_ROCE_CLOSED', 'the controller is disconnected'));
    await this.#disconnecting;
  }

  /** The queue is dead: what it has is freed, and its commands go back to the owner. */
  kill(reason: Error): void {
    if (this.#dead !== undefined) return;
    this.#dead = reason;
    const unanswered = [...this.#outstanding.values()];
    this.#outstanding.clear();
    for (const request of this.#next.splice(0)) request.fail(reason);
    // At once in ERROR: from here on the target reaches no memory of the callers.
    this.#disconnecting = this.#disconnect();
    this.#owner.died(this, reason, unanswered);
  }

  async #disconnect(): Promise<void> {
    try {
      await this.#connection?.disconnect();
    } catch (error) {
      if (!(error instanceof RoceError)) throw error;
    } finally {
      this.objects.free();
    }
  }

  #post(slot: Slot, request: HostRequest): void {
    const { capsules, stride, qp } = this.objects;
    const { command, data, direction } = request;
    const at = slot.index * stride;
    let length = COMMAND_BYTES;
    command.cid = slot.cid;
    if (data === undefined || direction === 'none' || data.length === 0) command.sgl.setNone();
    else if (direction === 'write' && data.length <= this.#shape.inCapsuleBytes) {
      command.sgl.setInCapsule(0, data.length);
      capsules.bytes.set(data, at + COMMAND_BYTES);
      length += data.length;
    } else this.#lend(slot, request, data);
    writeCommand(capsules.view, at, command);
    qp.postSend({ wrId: slot.index, opcode: WrOpcode.Send, sges: [{ mr: capsules, offset: at, length }] });
  }

  /** Gives the target a new key for the data, and the command its descriptor. */
  #lend(slot: Slot, { command, direction }: HostRequest, data: Uint8Array): void {
    const { region } = slot;
    const key = nextKey(region.rkey);
    const access = direction === 'read' ? Access.LocalWrite | Access.RemoteWrite : Access.RemoteRead;
    this.objects.qp.postSend({
      wrId: LOCAL_WORK,
      opcode: WrOpcode.RegMr,
      signaled: false,
      reg: { mr: region, memory: data, iova: DATA_ADDRESS, length: data.length, access, key },
    });
    slot.key = key;
    command.sgl.setKeyed(DATA_ADDRESS, data.length, key, this.#remoteInvalidate);
  }

  /** Whatever is thrown meanwhile ends the queue: whoever waits for a command of it is told. */
  async #run(): Promise<void> {
    try {
      await this.#takeAll();
      this.kill(new RoceError('ERR_ROCE_CLOSED', 'the device was closed'));
    } catch (cause) {
      const what = cause instanceof Error ? cause.message : String(cause);
      this.kill(new RoceError('ERR_ROCE_CLOSED', `queue ${this.qid} has failed: ${what}`, { cause }));
    }
  }

  async #takeAll(): Promise<void> {
    const { cq } = this.objects;
    const wc = new WorkCompletion();
    for (;;) {
      const { done, value } = await cq.next();
      if (done === true) return;
      this.#take(value);
      while (this.#dead === undefined && cq.poll(wc)) this.#take(wc);
    }
  }

  #take(wc: WorkCompletion): void {
    if (this.#dead !== undefined) return;
    if (wc.status !== WcStatus.Success) {
      this.kill(new RoceError('ERR_ROCE_CLOSED', `the connection failed: ${wcStatusName(wc.status)}`));
      return;
    }
    if (wc.opcode === WcOpcode.Recv) this.#responded(wc);
    else if (wc.opcode === WcOpcode.RecvRdmaWithImm) this.#breach('a WRITE with immediate data');
    else if (wc.wrId !== LOCAL_WORK) {
      const slot = this.#slots[wc.wrId];
      if (slot !== undefined) {
        slot.sendDone = true;
        if (slot.request === undefined) this.#release(slot);
      }
    }
  }

  #responded(wc: WorkCompletion): void {
    const { responses } = this.objects;
    const completion = this.#completion;
    if (!readCompletion(responses.view, wc.wrId * COMPLETION_BYTES, wc.byteLen, completion)) {
      this.#breach(`a response of ${wc.byteLen} bytes`);
      return;
    }
    const slot = this.#slots[completion.cid & SLOT_MASK];
    const request = slot?.request;
    if (slot === undefined || request === undefined || slot.cid !== completion.cid) {
      this.#breach(`a response to command ${completion.cid}, which is not outstanding`);
      return;
    }
    if (wc.invalidatedRkey !== -1 && wc.invalidatedRkey !== slot.key) {
      this.#breach('a response that invalidates the key of another command');
      return;
    }
    this.#takeBack(slot, wc.invalidatedRkey !== -1);
    this.objects.postReceive(wc.wrId);
    copyCompletion(completion, request.completion);
    slot.request = undefined;
    this.#outstanding.delete(slot.index);
    this.completed++;
    request.answered();
    if (slot.sendDone) this.#release(slot);
  }

  /** The key of a command that is answered opens nothing any more. */
  #takeBack(slot: Slot, invalidated: boolean): void {
    if (slot.key === -1) return;
    if (!invalidated)
      this.objects.qp.postSend({
        wrId: LOCAL_WORK,
        opcode: WrOpcode.LocalInv,
        signaled: false,
        invalidateRkey: slot.key,
      });
    slot.key = -1;
  }

  #release(slot: Slot): void {
    this.#free.push(slot);
    const next = this.#next.shift();
    if (next !== undefined) this.send(next);
    else this.#owner.slotFreed(this);
  }

  #breach(what: string): void {
    this.kill(new RoceError('ERR_ROCE_STATE', `the target broke the protocol: ${what}`));
  }
}

function copyCompletion(from: NvmeCompletion, to: NvmeCompletion): void {
  to.dw0 = from.dw0;
  to.dw1 = from.dw1;
  to.sqhd = from.sqhd;
  to.sqid = from.sqid;
  to.cid = from.cid;
  to.status = from.status;
  to.phase = from.phase;
}

function nextKey(key: number): number {
  return ((key & ~0xff) | ((key + 1) & 0xff)) >>> 0;
}

/** The address of the first byte of all data: keys tell commands apart. */
const DATA_ADDRESS = 0x1_00_00n;
/** `wrId` of work whose success is of no interest. */
const LOCAL_WORK = 2 ** 32;
/** A command identifier: the slot, and above it how often it was used. */
const SLOT_BITS = 10;
const SLOT_MASK = 2 ** SLOT_BITS - 1;
const GENERATION_MASK = 0x3f;
