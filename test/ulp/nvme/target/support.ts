/** A host made of verbs and bytes, in a simulated world with a target: it can send what no real host would. */

import {
  Access,
  type MemoryRegion,
  QpState,
  type RdmaConnection,
  type RdmaCq,
  type RdmaDevice,
  type RdmaQp,
  type WorkCompletion,
  WrOpcode,
} from '../../../../src/index.ts';
import {
  AdminOpcode,
  CM_REQUEST,
  COMMAND_BYTES,
  COMPLETION_BYTES,
  CONNECT,
  CONNECT_DATA,
  type Connect,
  type ConnectData,
  FABRICS_OPCODE,
  FabricsType,
  IDENTIFY,
  MemoryBackend,
  NvmeCommand,
  NvmeCompletion,
  NvmeSubsystem,
  NvmeTarget,
  PROPERTY,
  PropertyOffset,
  readCompletion,
  type SubsystemOptions,
  type TargetOptions,
  type TargetTimers,
  writeCommand,
} from '../../../../src/ulp/nvme/index.ts';
import { makePair, type Pair } from '../../../device/support.ts';

export const NQN = 'nqn.2026-11.example:disks';
export const HOST_NQN = 'nqn.2026-11.example:host';
export const DISK_BYTES = 1 << 20;

/** Timers that expire when the test says so. */
export class ManualTimers implements TargetTimers {
  readonly #pending = new Set<{ readonly durationNs: number; readonly then: () => void }>();

  after(durationNs: number, then: () => void): () => void {
    const timer = { durationNs, then };
    this.#pending.add(timer);
    return () => this.#pending.delete(timer);
  }

  /** Those of exactly this duration. */
  expire(durationNs: number): number {
    const due = [...this.#pending].filter((timer) => timer.durationNs === durationNs);
    for (const timer of due) {
      this.#pending.delete(timer);
      timer.then();
    }
    return due.length;
  }
}

export interface Served extends Pair {
  readonly subsystem: NvmeSubsystem;
  readonly disk: MemoryBackend;
  readonly target: NvmeTarget;
  readonly timers: ManualTimers;
}

/** A target on device b with one disk of 1 MiB, blocks of 512 bytes. */
export function serve(options: Partial<TargetOptions> = {}, subsystemOptions: Partial<SubsystemOptions> = {}): Served {
  const pair = makePair();
  const subsystem = new NvmeSubsystem({ nqn: NQN, ...subsystemOptions });
  const disk = new MemoryBackend(DISK_BYTES);
  subsystem.addNamespace({ backend: disk, uuid: new Uint8Array(16).fill(7) });
  const timers = new ManualTimers();
  const target = NvmeTarget.listen(pair.b, { subsystems: [subsystem], timers, ...options });
  return { ...pair, subsystem, disk, target, timers };
}

/** Where a scripted host is: its device, who drives it, and the address of the target. */
export interface HostPlace {
  readonly a: RdmaDevice;
  readonly world: { run<T>(promise: Promise<T>): Promise<T> };
  readonly address?: string;
}

/** A response, and the key that came with it. */
export interface Answer extends NvmeCompletion {
  readonly invalidated: number;
}

/** One queue of a host. */
export class ScriptedQueue {
  /** What the target may read and write: data of commands. */
  readonly memory: MemoryRegion;
  readonly qp: RdmaQp;
  readonly connection: RdmaConnection;
  readonly #served: HostPlace;
  readonly #cq: RdmaCq;
  readonly #capsule: MemoryRegion;
  readonly #responses: MemoryRegion;
  #cid = 0;
  #posted = 0;

  private constructor(parts: {
    served: HostPlace;
    cq: RdmaCq;
    qp: RdmaQp;
    memory: MemoryRegion;
    capsule: MemoryRegion;
    responses: MemoryRegion;
    connection: RdmaConnection;
  }) {
    this.#served = parts.served;
    this.#cq = parts.cq;
    this.qp = parts.qp;
    this.memory = parts.memory;
    this.#capsule = parts.capsule;
    this.#responses = parts.responses;
    this.connection = parts.connection;
  }

  /** Rejects as `connect` of the connection manager. */
  static async open(served: HostPlace, qid: number, entries = 32, privateData?: Uint8Array): Promise<ScriptedQueue> {
    const { a, world, address = '10.0.0.2' } = served;
    const pd = a.allocPd();
    const cq = a.createCq(256);
    const qp = pd.createQp({ sendCq: cq, recvCq: cq });
    const memory = pd.regMr(1 << 21, {
      access: Access.LocalWrite | Access.RemoteRead | Access.RemoteWrite,
      remoteInvalidate: true,
    });
    const capsule = pd.regMr(CAPSULES * CAPSULE_BYTES);
    const responses = pd.regMr(64 * COMPLETION_BYTES);
    qp.modifyNow({ state: QpState.Init, access: Access.LocalWrite | Access.RemoteRead | Access.RemoteWrite });
    for (let slot = 0; slot < 64; slot++)
      qp.postRecv({
        wrId: slot,
        sges: [{ mr: responses, offset: slot * COMPLETION_BYTES, length: COMPLETION_BYTES }],
      });
    const connection = await world.run(
      a.cm.connect({
        address,
        port: 4420,
        qp,
        privateData: privateData ?? CM_REQUEST.encode({ qid, hrqsize: entries, hsqsize: entries - 1 }),
      }),
    );
    return new ScriptedQueue({ served, cq, qp, memory, capsule, responses, connection });
  }

  /** The target is gone. */
  abandon(): void {
    void this.connection.disconnect();
    this.qp.destroy();
  }

  /** A command with its own identifier and no data. */
  command(opcode: number, nsid = 0): NvmeCommand {
    const command = new NvmeCommand().begin(opcode, nsid);
    command.cid = this.#cid++;
    return command;
  }

  /** The same with `length` bytes of `memory` from `offset` on. */
  withData(command: NvmeCommand, length: number, offset = 0, invalidate = false): NvmeCommand {
    const { iova, rkey } = this.memory;
    command.sgl.setKeyed(iova + BigInt(offset), length, rkey, invalidate);
    return command;
  }

  /** Sends it, with data in the capsule. */
  post(command: NvmeCommand, inCapsule?: Uint8Array, bytes = COMMAND_BYTES + (inCapsule?.length ?? 0)): void {
    const offset = (this.#posted++ % CAPSULES) * CAPSULE_BYTES;
    writeCommand(this.#capsule.view, offset, command);
    if (inCapsule !== undefined) this.#capsule.bytes.set(inCapsule, offset + COMMAND_BYTES);
    this.qp.postSend({
      wrId: 0,
      opcode: WrOpcode.Send,
      sges: [{ mr: this.#capsule, offset, length: bytes }],
      signaled: false,
    });
  }

  /** The next response; undefined when the queue pair has failed. */
  async answer(): Promise<Answer | undefined> {
    const { value, done } = await this.#served.world.run(this.#cq.next());
    return done === true ? undefined : this.#read(value);
  }

  /** Responses that have come and were not looked at. */
  get answers(): number {
    return this.#cq.length;
  }

  #read(value: WorkCompletion): Answer | undefined {
    if (value.status !== 0) return undefined;
    const completion = new NvmeCompletion();
    readCompletion(this.#responses.view, value.wrId * COMPLETION_BYTES, value.byteLen, completion);
    return Object.assign(completion, { invalidated: value.invalidatedRkey });
  }

  /** Sends a command and waits for its response. */
  async send(command: NvmeCommand, inCapsule?: Uint8Array): Promise<Answer> {
    this.post(command, inCapsule);
    const answer = await this.answer();
    if (answer === undefined) throw new Error('the queue pair has failed');
    return answer;
  }

  /** The command Connect for this queue, as a host would send it, or otherwise. */
  connect(command: Partial<Connect> = {}, { cntlid = 0xff_ff, ...data }: Partial<ConnectData> = {}): Promise<Answer> {
    const connect = this.command(FABRICS_OPCODE, FabricsType.Connect);
    connect.setArguments(CONNECT, { qid: 0, sqsize: 31, ...command });
    this.memory.bytes.set(
      CONNECT_DATA.encode({ hostid: new Uint8Array(16).fill(1), cntlid, subnqn: NQN, hostnqn: HOST_NQN, ...data }),
    );
    return this.send(this.withData(connect, CONNECT_DATA.byteLength));
  }

  /** A property as a number; -1 for a refusal. */
  async property(offset: number): Promise<number> {
    const get = this.command(FABRICS_OPCODE, FabricsType.PropertyGet);
    get.setArguments(PROPERTY, { size: offset === PropertyOffset.Cap ? 1 : 0, offset });
    const { status, dw0 } = await this.send(get);
    return status === 0 ? dw0 : -1;
  }

  async setProperty(offset: number, value: number): Promise<number> {
    const set = this.command(FABRICS_OPCODE, FabricsType.PropertySet);
    set.setArguments(PROPERTY, { offset, value: BigInt(value) });
    return (await this.send(set)).status;
  }

  /** Data of Identify; throws for a refusal. */
  async identify(cns: number, nsid = 0): Promise<Uint8Array> {
    const identify = this.command(AdminOpcode.Identify, nsid);
    identify.setArguments(IDENTIFY, { cns });
    const { status } = await this.send(this.withData(identify, 4096));
    if (status !== 0) throw new Error(`Identify ended with status ${status.toString(16)}`);
    return this.memory.bytes.slice(0, 4096);
  }
}

/** Commands that may be on their way, and room for each. */
const CAPSULES = 16;
const CAPSULE_BYTES = COMMAND_BYTES + 8192;

/** CC of an enabled controller, as Linux sets it. */
export const CC_ENABLED = 0x46_00_01;

/** A host with an admin queue that is connected and enabled. */
export async function connectAdmin(served: HostPlace, connect: Partial<Connect> = {}): Promise<ScriptedQueue> {
  const admin = await ScriptedQueue.open(served, 0);
  const { status } = await admin.connect(connect);
  if (status !== 0) throw new Error(`Connect ended with status ${status.toString(16)}`);
  await admin.setProperty(PropertyOffset.Cc, CC_ENABLED);
  return admin;
}

export interface ConnectedHost extends Served {
  readonly admin: ScriptedQueue;
  readonly io: ScriptedQueue;
}

/** A host with an admin queue and one I/O queue. */
export async function connectHost(
  options: Partial<TargetOptions> = {},
  subsystemOptions: Partial<SubsystemOptions> = {},
): Promise<ConnectedHost> {
  const served = serve(options, subsystemOptions);
  const admin = await connectAdmin(served);
  const io = await ScriptedQueue.open(served, 1);
  const { status } = await io.connect({ qid: 1 }, { cntlid: 1 });
  if (status !== 0) throw new Error(`Connect of the I/O queue ended with status ${status.toString(16)}`);
  return { ...served, admin, io };
}

/** `length` bytes, each different from its neighbours. */
export function pattern(length: number, first = 0): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (first + i * 7 + (i >> 8)) & 0xff);
}

/** What something waits for until it is opened. */
export function gate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}
