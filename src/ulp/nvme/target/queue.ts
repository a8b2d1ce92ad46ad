/**
 * One queue of a controller: a queue pair, its receives, and the life of each command from capsule to response.
 *
 * A capsule arrives in a receive of its own, which is posted again just before the response leaves. Data of the host is
 * in the capsule or READ from its memory; data for it is written there with an RDMA WRITE before the SEND of the
 * response, which invalidates the host's key where the descriptor asks for that. What is answered while completions are
 * taken leaves together (`answers.ts`). What the commands mean is the business of `QueueServices`. Whatever goes wrong
 * on the queue pair ends the queue, never the target.
 * Rules: ref:nvmeof.
 */
import { Access } from '../../../../transport/memory.ts';
import { QpState } from '../../../../transport/qp-state.ts';
import { WcOpcode, WcStatus, WorkCompletion, WrOpcode } from '../../../../transport/work.ts';
import type { RdmaConnection, RdmaCq, RdmaQp } from '../../../device/api.ts';
import { COMMAND_BYTES, COMPLETION_BYTES, Fuse, NvmeStatus, readCommand, SglSubtype, SglType } from '../codec/index.ts';
import { type Answer, type AnswerQueue, AnswerSender } from './answers.ts';
import type { DataMemory } from './data-memory.ts';
import { MAX_DATA_BYTES } from './data-pool.ts';
import type { CapsuleReceives } from './receives.ts';
import type { Execution, QueueServices } from './services.ts';
import { NEEDS_ROOM, NO_DATA, type Outcome, refused, type Task } from './task.ts';

/** What a queue has done. */
export interface QueueCounters {
  /** Commands that arrived. */
  commands: number;
  /** Of them those that ended with an error. */
  errors: number;
  /** Bytes that went to the host. */
  bytesToHost: number;
  /** Bytes that came from it. */
  bytesFromHost: number;
}

/** A queue, as an observer of the target sees it. */
export class TargetQueue {
  /** 0 for the admin queue. */
  readonly qid: number;
  /** Commands that the host may have outstanding, and one. */
  readonly entries: number;
  /** What it has done. */
  readonly counters: QueueCounters = { commands: 0, errors: 0, bytesToHost: 0, bytesFromHost: 0 };
  /** Its queue pair. */
  readonly qp: RdmaQp;
  /** The head pointer is not reported: the host asked for no flow control. */
  withoutFlowControl = false;
  /** Entries of the host's submission queue, at which its head pointer wraps: Connect may ask for fewer. */
  submissionEntries: number;
  /** Time of the last command, for the keep-alive timer: counts up. */
  activity = 0;
  readonly #services: QueueServices<TargetQueue>;
  readonly #cq: RdmaCq;
  readonly #receives: CapsuleReceives;
  /** Identifiers of commands that are under way. */
  readonly #identifiers = new Set<number>();
  readonly #answers: AnswerSender;
  /** Answers leave when all completions are taken, or soon. */
  #flushes = false;
  /** A probe has not been acknowledged yet. */
  #probing = false;
  #sqHead = 0;
  #closed = false;
  #connection: RdmaConnection | undefined;

  /** Makes the queue pair and posts its receives. @throws RoceError ERR_ROCE_LIMIT, ERR_ROCE_CLOSED */
  constructor(services: QueueServices<TargetQueue>, qid: number, entries: number) {
    this.#services = services;
    this.qid = qid;
    this.entries = entries;
    this.submissionEntries = entries;
    const sends = 2 * entries + 2;
    this.#receives = services.receivesOf(qid, entries);
    const { count, srq } = this.#receives;
    const { device, pd } = services;
    let cq: RdmaCq | undefined;
    try {
      cq = device.createCq(sends + PROBES + count);
      this.#cq = cq;
      this.qp = pd.createQp({
        sendCq: cq,
        recvCq: cq,
        maxSendWr: sends + PROBES,
        ...(srq === undefined ? { maxRecvWr: count } : { srq }),
        maxSge: 1,
        maxInlineData: COMPLETION_BYTES,
      });
    } catch (error) {
      if (cq !== undefined) device.destroyCq(cq);
      this.#receives.close();
      throw error;
    }
    this.#answers = new AnswerSender(this.#answerQueue(this.qp), sends);
    this.qp.modifyNow({ state: QpState.Init, access: Access.LocalWrite });
    this.#receives.begin(this.qp);
    void this.#run();
  }

  /** Whether it is gone. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Commands that have come and are not answered. */
  get outstanding(): number {
    return this.#identifiers.size;
  }

  /** The connection is there. */
  connected(connection: RdmaConnection): void {
    this.#connection = connection;
    if (this.#closed) void connection.disconnect();
    else void connection.closed.then(() => this.close());
  }

  /**
   * Asks the host's queue pair whether it is there, with an RDMA WRITE of nothing, which needs no key (ref:nvmeof#4). A
   * queue pair that does not acknowledge it is gone, and so is this queue then.
   */
  probe(): void {
    if (this.#closed || this.#probing || this.#connection === undefined) return;
    this.#probing = true;
    this.qp.postSend({ wrId: 0, opcode: WrOpcode.RdmaWrite, sges: [], remoteAddr: 0n, rkey: 0 });
  }

  /** Disconnects and frees; commands under way end without a response. May be called more than once. */
  close(): void {
    this.#close(false);
  }

  #close(unanswered: boolean): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#handBack();
    void this.#connection?.disconnect();
    this.qp.destroy();
    this.#services.device.destroyCq(this.#cq);
    this.#answers.close();
    // A backend may still use the memory of a command that it works on: that comes back when the command ends.
    for (const task of this.#receives.close()) if (!task.executing) this.#free(task);
    this.#services.closed(this, unanswered);
  }

  /** Ends a command: data first, where there is some for the host, then the response. */
  complete(task: Task, { status, dw0 = 0, dw1 = 0 }: Outcome): void {
    if (this.#closed) {
      this.#free(task);
      return;
    }
    const { memory, data } = task;
    const writes = status === NvmeStatus.Success && memory !== undefined && !task.command.sendsData;
    const bytes = writes ? data.length : 0;
    if (status !== NvmeStatus.Success) this.counters.errors++;
    this.counters.bytesToHost += bytes;
    task.memory = undefined;
    task.data = NO_DATA;
    this.#answers.add({ task, status, dw0, dw1, bytes, memory, conflict: false });
    this.#flushSoon();
  }

  /** For what completes outside of the loop over completions: all that does so now leaves together. */
  #flushSoon(): void {
    if (this.#flushes) return;
    this.#flushes = true;
    Promise.resolve()
      .then(() => this.#flush())
      .catch((error: unknown) => this.#fail(error));
  }

  #flush(): void {
    this.#flushes = false;
    if (!this.#closed) this.#answers.flush();
  }

  #answerQueue(qp: RdmaQp): AnswerQueue {
    return { qp, leaves: (answer) => this.#leaves(answer) };
  }

  #leaves({ task, conflict }: Answer): number {
    this.#sqHead = (this.#sqHead + 1) % this.submissionEntries;
    if (!conflict) {
      this.#identifiers.delete(task.command.cid);
      this.#services.answered(this, task.arrivedAt);
    }
    task.busy = false;
    this.#receives.post(task);
    return this.withoutFlowControl ? NO_SQ_HEAD : this.#sqHead;
  }

  /** Whatever is thrown ends the queue, and is told: it never becomes a rejection that nobody sees. */
  async #run(): Promise<void> {
    try {
      await this.#takeAll();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#services.failed(this, error);
    this.close();
  }

  async #takeAll(): Promise<void> {
    const wc = new WorkCompletion();
    for (;;) {
      const { value, done } = await this.#cq.next();
      if (done === true) return;
      if (this.#closed) {
        this.#unused(value);
        return;
      }
      this.#flushes = true;
      this.#completed(value);
      while (!this.#closed && this.#cq.poll(wc)) this.#completed(wc);
      this.#flush();
    }
  }

  #completed(wc: WorkCompletion): void {
    const { opcode, status, wrId, byteLen } = wc;
    if (this.#closed) return;
    if (status !== WcStatus.Success) {
      this.#unused(wc);
      this.#close(status === WcStatus.RetryExcErr);
      return;
    }
    if (opcode === WcOpcode.Recv) {
      const task = this.#receives.tasks[wrId];
      if (task !== undefined) this.#arrived(task, byteLen);
      return;
    }
    if (opcode === WcOpcode.Send) {
      this.#answers.acknowledged();
    } else if (opcode === WcOpcode.RdmaRead) {
      this.#answers.readEnded();
      const task = this.#receives.tasks[wrId];
      if (task !== undefined) this.#execute(task);
    } else if (opcode === WcOpcode.RdmaWrite) {
      this.#probing = false;
    }
  }

  #arrived(task: Task, byteLen: number): void {
    const { capsules, capsuleBytes } = this.#receives;
    this.activity++;
    this.counters.commands++;
    const fits = this.#receives.arrived(task);
    if (!fits || !readCommand(capsules.view, task.slot * capsuleBytes, byteLen, task.command)) {
      // More than it asked for, or not even an identifier to answer.
      this.close();
      return;
    }
    task.busy = true;
    task.arrivedAt = this.#services.now();
    task.capsuleBytes = byteLen;
    const { command } = task;
    if (this.#identifiers.has(command.cid)) {
      // The response names the identifier of the command that is under way, too: it must stay in use.
      this.counters.errors++;
      const { status } = refused(NvmeStatus.CommandIdConflict);
      this.#answers.add({ task, status, dw0: 0, dw1: 0, bytes: 0, memory: undefined, conflict: true });
      return;
    }
    this.#identifiers.add(command.cid);
    if (command.psdt !== 1 || command.fuse !== Fuse.Normal) {
      this.complete(task, refused(NvmeStatus.InvalidField));
      return;
    }
    const length = this.#services.dataLength(this, task);
    if (length < 0) this.complete(task, { status: ~length });
    else if (length === 0) this.#execute(task);
    else this.#moveData(task, length);
  }

  /** Finds the data of a command, or room for it. */
  #moveData(task: Task, length: number): void {
    const { command } = task;
    const { sgl } = command;
    const fault = this.#descriptorFault(task, length);
    if (fault !== NvmeStatus.Success) {
      this.complete(task, refused(fault));
    } else if (sgl.type === SglType.DataBlock) {
      const { capsules, capsuleBytes } = this.#receives;
      const first = task.slot * capsuleBytes + COMMAND_BYTES + sgl.offset;
      task.data = capsules.bytes.subarray(first, first + length);
      this.counters.bytesFromHost += length;
      this.#execute(task);
    } else if (!command.sendsData && this.#services.findsRoom(this, task)) {
      this.#execute(task);
    } else {
      this.#lend(task, length);
    }
  }

  #lend(task: Task, length: number): void {
    this.#services.pool.lend(length, (memory) => this.#lent(task, memory, length));
  }

  /** Why the descriptor cannot be of this command's data; 0 when it can. */
  #descriptorFault({ command, capsuleBytes }: Task, length: number): number {
    const { sgl, sendsData } = command;
    const { type, subtype } = sgl;
    const inCapsule = type === SglType.DataBlock && subtype === SglSubtype.Offset && sendsData;
    const known = subtype === SglSubtype.Address || subtype === SglSubtype.Invalidate;
    if (!inCapsule && !(type === SglType.KeyedDataBlock && known)) return NvmeStatus.InvalidSglType;
    if (sgl.length !== length) return NvmeStatus.InvalidSglDataLength;
    if (inCapsule) return sgl.offset + length > capsuleBytes - COMMAND_BYTES ? NvmeStatus.InvalidSglOffset : 0;
    return length > MAX_DATA_BYTES ? NvmeStatus.InvalidField : 0;
  }

  #lent(task: Task, memory: DataMemory | undefined, length: number): void {
    if (this.#closed) {
      // The task may be that of another queue meanwhile.
      memory?.giveBack();
    } else if (memory === undefined) {
      this.complete(task, { status: NvmeStatus.InternalError });
    } else {
      task.use(memory, length);
      if (!task.command.sendsData) {
        this.#execute(task);
        return;
      }
      this.counters.bytesFromHost += length;
      this.#answers.read(task);
    }
  }

  /** What ends at once is answered in this turn. */
  #execute(task: Task): void {
    task.executing = true;
    let outcome: Execution;
    try {
      outcome = this.#services.execute(this, task);
    } catch {
      outcome = FAILED;
    }
    if (outcome instanceof Promise) void this.#await(task, outcome);
    else this.#executed(task, outcome);
  }

  async #await(task: Task, coming: Promise<Outcome | undefined>): Promise<void> {
    try {
      // A backend that rejects, against its contract, costs its command and nothing else.
      this.#executed(task, await coming.catch(() => FAILED));
    } catch (error) {
      this.#fail(error);
    }
  }

  #executed(task: Task, outcome: Outcome | undefined): void {
    task.executing = false;
    // Which the descriptor describes: its length was found right.
    if (outcome === NEEDS_ROOM) this.#lend(task, task.command.sgl.length);
    else if (outcome !== undefined) this.complete(task, outcome);
  }

  /** Receives that this queue pair has taken, and that nobody has looked at, go back to those who share them. */
  #handBack(): void {
    // With its device everything is gone.
    if (this.#receives.srq === undefined || this.qp.destroyed) return;
    this.qp.modifyNow({ state: QpState.Error });
    const wc = new WorkCompletion();
    while (this.#cq.poll(wc)) this.#unused(wc);
  }

  /** A receive, if it is one, that brings no command. */
  #unused({ opcode, wrId }: WorkCompletion): void {
    if (this.#receives.srq === undefined) return;
    const task = opcode === WcOpcode.Recv ? this.#receives.tasks[wrId] : undefined;
    if (task !== undefined) this.#receives.post(task);
  }

  /** The task is over without a response, for the queue is. */
  #free(task: Task): void {
    task.memory?.giveBack();
    task.memory = undefined;
    task.data = NO_DATA;
    task.busy = false;
    this.#receives.post(task);
  }
}

/** Of a command whose backend broke its contract. */
const FAILED: Outcome = { status: NvmeStatus.InternalError };
/** Unacknowledged at a time. */
const PROBES = 1;
/** In place of the head pointer where there is no flow control. */
const NO_SQ_HEAD = 0xff_ff;
