/**
 * A target for tests of the host: a controller with one namespace in memory, as short as it can be, and as bad as a
 * test wants it. Every command passes `script` first, which may answer it in its own way.
 */
import { CmRejReason } from '../../../../packets/cm/index.ts';
import type { RdmaConnection } from '../../../../src/device/api.ts';
import {
  Access,
  type Cq,
  type Device,
  type MemoryRegion,
  type Pd,
  type Qp,
  QpState,
  WcStatus,
  WrOpcode,
} from '../../../../src/index.ts';
import {
  AdminOpcode,
  blocksOf,
  CAP,
  CC,
  CM_REJECT,
  CM_REPLY,
  CM_REQUEST,
  COMMAND_BYTES,
  CONNECT_RESULT,
  CSTS,
  encodeDiscoveryLog,
  encodeNamespaceDescriptors,
  encodeNamespaceList,
  FABRICS_OPCODE,
  FabricsType,
  FEATURES,
  Feature,
  GET_LOG_PAGE,
  IDENTIFY,
  IDENTIFY_CONTROLLER,
  IDENTIFY_NAMESPACE,
  IdentifyCns,
  isDeallocation,
  LogPage,
  lbaOf,
  type NamespaceDescriptor,
  NvmeCommand,
  NvmeStatus,
  NvmOpcode,
  PROPERTY,
  PropertyOffset,
  readCommand,
  readDsmRanges,
  type SglDescriptor,
  SglType,
  STATUS_DNR,
  writeCompletion,
} from '../../../../src/ulp/nvme/codec/index.ts';

export const BLOCK = 512;
export const BLOCKS = 4096;

/** A command as the script sees it. */
export interface Arrived {
  readonly qid: number;
  readonly command: NvmeCommand;
  /** Connection it came by, counted from 0 over all queues. */
  readonly queue: TargetQueue;
}

/** What a script does with a command: 'serve' as usual, 'drop' without an answer, or a status. */
export type Verdict = 'serve' | 'drop' | number;

export interface ScriptedOptions {
  readonly port?: number;
  /** Reason to refuse a queue with, by its identifier. */
  readonly refuse?: (qid: number) => number | undefined;
  readonly script?: (arrived: Arrived) => Verdict;
  /** Changes the data that a command gets. */
  readonly mangle?: (bytes: Uint8Array) => Uint8Array;
  /** Fields of Identify Controller. */
  readonly identity?: object;
  /** Fields of Identify Namespace. */
  readonly namespace?: object;
  /** Its descriptors (CNS 03h); without them that Identify is refused. */
  readonly descriptors?: readonly NamespaceDescriptor[];
  /** Fields of the result of Connect. */
  readonly connectResult?: object;
  /** I/O queues that it grants. */
  readonly grants?: number;
  /** Whether responses invalidate the key when asked to. */
  readonly invalidates?: boolean;
}

export class ScriptedTarget {
  readonly disk = new Uint8Array(BLOCK * BLOCKS);
  readonly queues: TargetQueue[] = [];
  /** Opcodes on I/O queues, in the order in which they came. */
  readonly seen: number[] = [];
  options: ScriptedOptions;
  cc = 0;
  /** Asynchronous Event Requests that wait. */
  readonly events: { readonly queue: TargetQueue; readonly cid: number }[] = [];
  readonly device: Device;

  constructor(device: Device, options: ScriptedOptions = {}) {
    this.device = device;
    this.options = options;
    void this.#listen(options.port ?? 4420);
  }

  async #listen(port: number): Promise<void> {
    for await (const request of this.device.cm.listen(port)) {
      const asked = CM_REQUEST.read(request.privateData);
      const reason = this.options.refuse?.(asked?.qid ?? 0);
      if (asked === undefined || reason !== undefined) {
        request.reject(CM_REJECT.encode({ sts: reason ?? 1 }), CmRejReason.ConsumerDefined);
        continue;
      }
      const queue = new TargetQueue(this, asked.qid, asked.hsqsize + 1);
      this.queues.push(queue);
      queue.connection = await request.accept({
        qp: queue.qp,
        privateData: CM_REPLY.encode({ crqsize: asked.hsqsize + 1 }),
      });
    }
  }

  /** Every connection ends: in good order, or without a word. */
  kill(silently = false): void {
    for (const queue of this.queues.splice(0)) {
      queue.ended = true;
      if (silently) queue.qp.destroy();
      else void queue.connection?.disconnect();
    }
    this.events.length = 0;
  }

  /** Answers the oldest Asynchronous Event Request. */
  event(dw0: number): void {
    const waiting = this.events.shift();
    if (waiting === undefined) throw new Error('no event request waits');
    waiting.queue.answer(waiting.cid, NvmeStatus.Success, { dw0 });
  }
}

export interface AnswerOptions {
  readonly dw0?: number;
  readonly dw1?: number;
  /** The key that the response invalidates. */
  readonly invalidate?: number | undefined;
  /** Bytes of the response [16]. */
  readonly length?: number;
}

const CAPSULE = COMMAND_BYTES + 8192;

export class TargetQueue {
  readonly target: ScriptedTarget;
  readonly qid: number;
  readonly qp: Qp;
  connection: RdmaConnection | undefined;
  ended = false;
  readonly #pd: Pd;
  readonly #cq: Cq;
  readonly #capsules: MemoryRegion;
  /** READs under way, oldest first: they end in order. */
  readonly #fetching: (() => void)[] = [];

  constructor(target: ScriptedTarget, qid: number, size: number) {
    this.target = target;
    this.qid = qid;
    this.#pd = target.device.allocPd();
    this.#cq = target.device.createCq(size * 6);
    this.qp = this.#pd.createQp({
      sendCq: this.#cq,
      recvCq: this.#cq,
      maxSendWr: size * 4,
      maxRecvWr: size,
      maxInlineData: 64,
    });
    this.#capsules = this.#pd.regMr(CAPSULE * size);
    this.qp.modifyNow({ state: QpState.Init, access: 0 });
    for (let i = 0; i < size; i++) this.#receive(i);
    void this.#run();
  }

  answer(cid: number, status: number, options: AnswerOptions = {}): void {
    const { dw0 = 0, dw1 = 0, invalidate, length = 16 } = options;
    if (this.ended) return;
    const inline = new Uint8Array(16);
    writeCompletion(new DataView(inline.buffer), 0, cid, status, 0, dw0, dw1);
    const bytes = inline.subarray(0, length);
    if (invalidate === undefined) this.qp.postSend({ wrId: -1, opcode: WrOpcode.Send, inline: bytes });
    else this.qp.postSend({ wrId: -1, opcode: WrOpcode.SendWithInv, inline: bytes, invalidateRkey: invalidate });
  }

  /** No target of NVMe does that: it takes a receive of the host. */
  writeWithImmediate(): void {
    const opcode = WrOpcode.RdmaWriteWithImm;
    this.qp.postSend({ wrId: -1, opcode, inline: new Uint8Array(0), immData: 1, remoteAddr: 0n, rkey: 0 });
  }

  #receive(index: number): void {
    this.qp.postRecv({ wrId: index, sges: [{ mr: this.#capsules, offset: index * CAPSULE, length: CAPSULE }] });
  }

  async #run(): Promise<void> {
    for await (const wc of this.#cq) {
      if (wc.status !== WcStatus.Success || this.ended) continue;
      if (wc.opcode !== 128) {
        if (wc.wrId === FETCHED) this.#fetching.shift()?.();
        continue;
      }
      const at = wc.wrId * CAPSULE;
      const command = new NvmeCommand();
      readCommand(this.#capsules.view, at, wc.byteLen, command);
      const data = this.#capsules.bytes.slice(at + COMMAND_BYTES, at + wc.byteLen);
      this.#receive(wc.wrId);
      void this.#handle(command, data);
    }
  }

  async #handle(command: NvmeCommand, inCapsule: Uint8Array): Promise<void> {
    if (this.qid > 0 && command.opcode !== FABRICS_OPCODE) this.target.seen.push(command.opcode);
    const verdict = this.target.options.script?.({ qid: this.qid, command, queue: this }) ?? 'serve';
    if (verdict === 'drop') return;
    const invalidate =
      this.target.options.invalidates !== false && command.sgl.invalidates ? command.sgl.key : undefined;
    if (verdict !== 'serve') {
      this.answer(command.cid, verdict, { invalidate });
      return;
    }
    const data = command.sgl.type === SglType.DataBlock ? inCapsule : await this.#fetch(command);
    if (this.ended) return;
    const {
      status = 0,
      dw0 = 0,
      dw1 = 0,
      out,
    } = command.opcode === FABRICS_OPCODE || this.qid === 0 ? this.#admin(command) : this.#io(command, data);
    if (status < 0) return;
    const { mangle = (bytes: Uint8Array) => bytes } = this.target.options;
    if (out !== undefined) this.put(command.sgl, (this.qid === 0 ? mangle(out) : out).slice(0, command.sgl.length));
    this.answer(command.cid, status, { dw0, dw1, invalidate });
  }

  /** The data that a command sends by its key. */
  #fetch({ sgl, sendsData }: NvmeCommand): Promise<Uint8Array> {
    if (!sendsData || sgl.length === 0) return Promise.resolve(new Uint8Array(0));
    const mr = this.#pd.regMr(sgl.length);
    this.qp.postSend({
      wrId: FETCHED,
      opcode: WrOpcode.RdmaRead,
      sges: [{ mr }],
      remoteAddr: sgl.address,
      rkey: sgl.key,
    });
    return new Promise((resolve) => this.#fetching.push(() => resolve(mr.bytes.slice())));
  }

  /** Writes into the host's memory. */
  put({ address, key }: Pick<SglDescriptor, 'address' | 'key'>, bytes: Uint8Array): void {
    if (this.ended) return;
    const mr = this.#pd.regMr(bytes, { access: Access.LocalWrite });
    this.qp.postSend({ wrId: -1, opcode: WrOpcode.RdmaWrite, sges: [{ mr }], remoteAddr: address, rkey: key });
  }

  #admin(command: NvmeCommand): Served {
    const { target } = this;
    if (command.opcode === FABRICS_OPCODE) return this.#fabrics(command);
    switch (command.opcode) {
      case AdminOpcode.Identify: {
        const { cns } = command.arguments(IDENTIFY);
        const { descriptors } = target.options;
        if (cns !== IdentifyCns.NamespaceDescriptors) return { out: this.#identify(cns) };
        if (descriptors === undefined) return { status: NvmeStatus.InvalidField | STATUS_DNR };
        return { out: encodeNamespaceDescriptors(descriptors) };
      }
      case AdminOpcode.SetFeatures: {
        const { fid } = command.arguments(FEATURES);
        const more = (target.options.grants ?? 8) - 1;
        return fid === Feature.NumberOfQueues ? { dw0: more | (more << 16) } : {};
      }
      case AdminOpcode.AsyncEventRequest:
        target.events.push({ queue: this, cid: command.cid });
        return { status: -1 };
      case AdminOpcode.GetLogPage: {
        const { lid, lpo, numd } = command.arguments(GET_LOG_PAGE);
        const page =
          lid === LogPage.Discovery
            ? encodeDiscoveryLog(5n, [{ subnqn: 'nqn.a' }, { subnqn: 'nqn.b' }])
            : encodeNamespaceList([1, 7]);
        return { out: page.subarray(Number(lpo), Number(lpo) + (numd + 1) * 4) };
      }
      case AdminOpcode.KeepAlive:
        return {};
      default:
        return { status: NvmeStatus.InvalidOpcode };
    }
  }

  #fabrics(command: NvmeCommand): Served {
    const { target } = this;
    const { offset, value } = command.arguments(PROPERTY);
    switch (command.fabricsType) {
      case FabricsType.Connect:
        return { dw0: CONNECT_RESULT.toNumber({ cntlid: 17, ...target.options.connectResult }) };
      case FabricsType.PropertySet:
        target.cc = Number(value);
        return {};
      default: {
        const { en, shn } = CC.ofNumber(target.cc);
        const cap = CAP.toBigint({ mqes: 127, cqr: true, to: 2, css: 1 });
        if (offset === PropertyOffset.Cap) return { dw0: Number(cap & 0xff_ff_ff_ffn), dw1: Number(cap >> 32n) };
        return { dw0: CSTS.toNumber({ rdy: en, shst: shn === 0 ? 0 : 2 }) };
      }
    }
  }

  #identify(cns: number): Uint8Array {
    const { identity = {}, namespace = {} } = this.target.options;
    if (cns === IdentifyCns.ActiveNamespaces) return encodeNamespaceList([1]);
    if (cns === IdentifyCns.Controller)
      return IDENTIFY_CONTROLLER.encode({
        sglsKeyed: true,
        sglsOffset: true,
        ioccsz: (64 + 4096) / 16,
        iorcsz: 1,
        maxcmd: 128,
        mdts: 4,
        oaes: 0x1_00,
        ...identity,
      });
    const nguid = new Uint8Array(16).fill(9);
    return IDENTIFY_NAMESPACE.encode({
      nsze: BigInt(BLOCKS),
      ncap: BigInt(BLOCKS),
      lbaf: [{ lbads: 9 }],
      nguid,
      ...namespace,
    });
  }

  #io(command: NvmeCommand, data: Uint8Array): Served {
    const { disk } = this.target;
    const start = lbaOf(command) * BLOCK;
    const end = start + blocksOf(command) * BLOCK;
    if (command.nsid !== 1) return { status: NvmeStatus.InvalidNamespace };
    switch (command.opcode) {
      case NvmOpcode.Read:
        return end > disk.length ? { status: NvmeStatus.LbaOutOfRange } : { out: disk.subarray(start, end) };
      case NvmOpcode.Write:
        if (data.length !== end - start) return { status: NvmeStatus.InvalidSglDataLength };
        disk.set(data, start);
        return {};
      case NvmOpcode.Compare:
        return data.every((byte, i) => byte === disk[start + i]) ? {} : { status: NvmeStatus.CompareFailure };
      case NvmOpcode.WriteZeroes:
        disk.fill(0, start, end);
        return {};
      case NvmOpcode.DatasetManagement:
        if (isDeallocation(command))
          for (const { lba, blocks } of readDsmRanges(data, 256)) disk.fill(0, lba * BLOCK, (lba + blocks) * BLOCK);
        return {};
      case NvmOpcode.Flush:
      case NvmOpcode.Verify:
        return {};
      default:
        return { status: NvmeStatus.InvalidOpcode };
    }
  }
}

interface Served {
  /** [success]; below 0 for no answer now. */
  readonly status?: number;
  readonly dw0?: number;
  readonly dw1?: number;
  readonly out?: Uint8Array;
}

const FETCHED = 2 ** 33;
