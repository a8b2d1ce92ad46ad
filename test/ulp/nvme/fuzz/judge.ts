/**
 * What must hold after each capsule: an answer with a status that the specifications name, or a queue torn down; bytes
 * of the addressed namespace only; memory of the host within the descriptor only; no byte of what others wrote. Owns
 * these sentences, and the shadow of what a command that succeeded has done.
 */
import {
  AdminOpcode,
  blocksOf,
  COMMAND_BYTES,
  CONNECT_DATA,
  dsmRangeCount,
  FABRICS_OPCODE,
  FabricsType,
  isDeallocation,
  lbaOf,
  NvmeCommand,
  NvmeStatus,
  NvmOpcode,
  readCommand,
  readDsmRanges,
  SglType,
  STATUS_CODE_MASK,
} from '../../../../src/ulp/nvme/index.ts';
import type { NoticingDisk } from './disk.ts';
import { type HostileHost, type HostileQueue, MEMORY_IOVA, type RawAnswer } from './hostile-host.ts';
import { mayEndWith } from './statuses.ts';

/** A command that has no answer yet. */
export interface Sent {
  readonly command: NvmeCommand;
  readonly capsule: Uint8Array;
}

/** Counts, for the report of a run. */
export interface Tally {
  capsules: number;
  answered: number;
  torn: number;
  /** Answers by status, type and code. */
  readonly statuses: Map<number, number>;
}

export class Judge {
  readonly findings: string[] = [];
  readonly tally: Tally = { capsules: 0, answered: 0, torn: 0, statuses: new Map() };
  readonly #disks: ReadonlyMap<string, ReadonlyMap<number, NoticingDisk>>;
  readonly #magic: Uint8Array;
  readonly #host: HostileHost;
  readonly #sent = new Map<HostileQueue, Sent[]>();

  /** @param disks of subsystems, by name, and of these by namespace @param magic what all disks of others are full of */
  constructor(host: HostileHost, disks: ReadonlyMap<string, ReadonlyMap<number, NoticingDisk>>, magic: Uint8Array) {
    this.#host = host;
    this.#disks = disks;
    this.#magic = magic;
  }

  /** Identifiers without an answer. */
  outstanding(queue: HostileQueue): number[] {
    return this.#of(queue).map(({ command }) => command.cid);
  }

  /** Whether everything has an answer that need not be held. */
  isAnswered(queue: HostileQueue): boolean {
    this.#collect(queue);
    return queue.dead || this.#of(queue).every((sent) => isHeld(queue, sent));
  }

  /** A capsule has left. Undefined for one without an identifier, which cannot be answered. */
  left(queue: HostileQueue, capsule: Uint8Array): Sent | undefined {
    this.tally.capsules++;
    const command = new NvmeCommand();
    if (!readCommand(viewOf(capsule), 0, capsule.length, command)) return undefined;
    const sent = { command, capsule: capsule.slice() };
    this.#of(queue).push(sent);
    return sent;
  }

  /** The queue is gone; how, is for the caller to know. */
  forget(queue: HostileQueue): void {
    if (this.#sent.delete(queue)) this.tally.torn++;
  }

  /** One capsule and its answer: everything is known, so everything is compared. */
  async alone(queue: HostileQueue, capsule: Uint8Array): Promise<RawAnswer | undefined> {
    const before = this.#host.bytes.slice();
    if (!queue.send(capsule)) return undefined;
    const sent = this.left(queue, capsule);
    let answer: RawAnswer | undefined;
    const arrived = (): boolean => {
      const found = this.#collect(queue, sent);
      answer ??= found;
      return answer !== undefined || queue.dead;
    };
    const held = sent !== undefined && isHeld(queue, sent);
    if (!(await queue.until(arrived, held ? HELD_NS : PATIENCE_NS)) && !held) this.#unanswered(queue, capsule);
    if (sent !== undefined && answer !== undefined) this.#compare(queue, sent, answer, before);
    // A command may be done, and its answer end the queue: with the invalidation of a key that there is not.
    else if (queue.dead) await this.#leaveOpen();
    this.look();
    return answer;
  }

  /** Waits until everything on its way is answered. What the commands did is not known: the disks are as they are. */
  async settle(queue: HostileQueue): Promise<void> {
    const done = (): boolean => this.isAnswered(queue);
    if (!(await queue.until(done, PATIENCE_NS)))
      this.#unanswered(queue, this.#of(queue).find((sent) => !isHeld(queue, sent))?.capsule);
    await this.#leaveOpen();
    this.look();
  }

  /** A queue that ended leaves commands in the disks: what they do is as they do it. */
  async #leaveOpen(): Promise<void> {
    await this.#host.world.run(this.#host.world.sleep(DISKS_END_NS));
    for (const disks of this.#disks.values()) for (const disk of disks.values()) disk.accept();
  }

  /** Disks and memory: what holds at any time. */
  look(): void {
    for (const [name, disks] of this.#disks)
      for (const [nsid, disk] of disks) {
        if (!disk.sound) this.#found(`namespace ${nsid} of ${name} is not what it ought to be`);
        disk.accept();
        for (const breach of disk.breaches.splice(0)) this.#found(`namespace ${nsid} of ${name}: ${breach}`);
      }
    if (Buffer.from(this.#host.bytes.buffer).includes(Buffer.from(this.#magic))) {
      this.#found('the host has bytes that another wrote');
      this.#host.bytes.fill(0);
    }
  }

  /** Of this queue, what has come; the answer of `wanted` is returned. */
  #collect(queue: HostileQueue, wanted?: Sent): RawAnswer | undefined {
    let found: RawAnswer | undefined;
    const outstanding = this.#of(queue);
    for (const answer of queue.answers.splice(0)) {
      this.tally.answered++;
      const code = answer.status & STATUS_CODE_MASK;
      this.tally.statuses.set(code, (this.tally.statuses.get(code) ?? 0) + 1);
      const at = indexOf(outstanding, answer, wanted);
      const [sent] = at < 0 ? [] : outstanding.splice(at, 1);
      if (sent === undefined) this.#found(`an answer to ${answer.cid}, which is not outstanding`);
      else {
        this.#looksRight(queue, sent, answer);
        if (sent === wanted) found = answer;
      }
    }
    return found;
  }

  #looksRight(queue: HostileQueue, { command, capsule }: Sent, answer: RawAnswer): void {
    const what = `queue ${queue.qid}, ${hex(capsule.subarray(0, COMMAND_BYTES))}`;
    if (answer.bytes !== 16 || answer.phase !== 0) this.#found(`${what}: an answer of ${answer.bytes} bytes`);
    if (!mayEndWith(answer.status, queue.qid, command))
      this.#found(`${what}: status ${answer.status.toString(16)} is not one of this command`);
    const key = command.sgl.invalidates ? command.sgl.key : -1;
    if (answer.invalidated !== key) this.#found(`${what}: key ${answer.invalidated} was invalidated, not ${key}`);
    if (answer.invalidated !== -1 && answer.invalidated === this.#host.memory.rkey) this.#host.renew();
    const { entries } = queue.state;
    if (answer.sqhd !== 0xff_ff && answer.sqhd >= entries)
      this.#found(`${what}: head ${answer.sqhd} of ${entries} entries`);
  }

  #compare(queue: HostileQueue, { command, capsule }: Sent, answer: RawAnswer, before: Uint8Array): void {
    const disks = this.#disks.get(queue.state.subnqn);
    const disk = queue.qid === 0 ? undefined : disks?.get(command.nsid);
    const done = answer.status === NvmeStatus.Success;
    const { sgl } = command;
    const at = Number(sgl.address - MEMORY_IOVA);
    const keyed = sgl.type === SglType.KeyedDataBlock;
    const data = keyed ? before.subarray(at, at + sgl.length) : capsule.subarray(COMMAND_BYTES + sgl.offset);
    if (done && isConnect(command)) {
      const { subnqn = '' } = CONNECT_DATA.read(data.slice(0, CONNECT_DATA.byteLength)) ?? {};
      Object.assign(queue.state, { connected: true, subnqn });
    }
    if (done && disk !== undefined) this.#shadow(command, disk, data);
    const returns = done && !command.sendsData && keyed;
    const now = this.#host.bytes;
    if (returns && disk !== undefined && command.opcode === NvmOpcode.Read) {
      const first = lbaOf(command) * disk.blockBytes;
      const read = disk.shadow.subarray(first, first + blocksOf(command) * disk.blockBytes);
      if (Buffer.compare(now.subarray(at, at + sgl.length), read) !== 0)
        this.#found(`${hex(capsule.subarray(0, COMMAND_BYTES))}: read other bytes than those of the blocks`);
    }
    const [from, to] = returns ? [at, at + sgl.length] : [0, 0];
    const beside = Buffer.compare(now.subarray(0, from), before.subarray(0, from));
    if (beside !== 0 || Buffer.compare(now.subarray(to), before.subarray(to)) !== 0)
      this.#found(`${hex(capsule.subarray(0, COMMAND_BYTES))}: wrote beside its descriptor`);
  }

  /** What a command that succeeded has done to its disk. */
  #shadow(command: NvmeCommand, { shadow, blockBytes }: NoticingDisk, data: Uint8Array): void {
    const first = lbaOf(command) * blockBytes;
    const bytes = blocksOf(command) * blockBytes;
    const onBlocks = BLOCK_COMMANDS.includes(command.opcode);
    if (onBlocks && first + bytes > shadow.length) this.#found(`success for blocks beyond the disk`);
    else if (command.opcode === NvmOpcode.Write) shadow.set(data.subarray(0, bytes), first);
    else if (command.opcode === NvmOpcode.WriteZeroes) shadow.fill(0, first, first + bytes);
    else if (command.opcode === NvmOpcode.DatasetManagement && isDeallocation(command))
      for (const range of readDsmRanges(data.slice(), dsmRangeCount(command))) {
        if (!((range.lba + range.blocks) * blockBytes <= shadow.length))
          this.#found('success for a range beyond the disk');
        shadow.fill(0, range.lba * blockBytes, (range.lba + range.blocks) * blockBytes);
      }
  }

  #unanswered(queue: HostileQueue, capsule: Uint8Array | undefined): void {
    const what = capsule === undefined ? 'a capsule' : hex(capsule.subarray(0, COMMAND_BYTES));
    this.#found(`queue ${queue.qid}: ${what} of ${capsule?.length} bytes has no answer, and the queue lives`);
    queue.vanish();
  }

  #of(queue: HostileQueue): Sent[] {
    let sent = this.#sent.get(queue);
    if (sent === undefined) {
      sent = [];
      this.#sent.set(queue, sent);
    }
    return sent;
  }

  #found(sentence: string): void {
    if (this.findings.length < 20) this.findings.push(sentence);
  }
}

function isConnect({ opcode, fabricsType }: NvmeCommand): boolean {
  return opcode === FABRICS_OPCODE && fabricsType === FabricsType.Connect;
}

/** Event requests are answered when something happens. */
function isHeld({ qid }: HostileQueue, { command }: Sent): boolean {
  return qid === 0 && command.opcode === AdminOpcode.AsyncEventRequest;
}

/** Of several commands with one identifier: the one that is waited for, when the answer may be its; else the last. */
function indexOf(outstanding: readonly Sent[], { cid, status }: RawAnswer, wanted: Sent | undefined): number {
  if (wanted?.command.cid === cid && outstanding.includes(wanted)) return outstanding.indexOf(wanted);
  const conflict = (status & STATUS_CODE_MASK) === NvmeStatus.CommandIdConflict;
  const isIt = ({ command }: Sent): boolean => command.cid === cid;
  return conflict ? outstanding.findLastIndex(isIt) : outstanding.findIndex(isIt);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** An event request that is refused is answered by then. */
const HELD_NS = 1e6;
/** A disk takes up to 2 ms an operation, and a command of many ranges has many. */
const DISKS_END_NS = 1e9;
const BLOCK_COMMANDS: readonly number[] = [
  NvmOpcode.Read,
  NvmOpcode.Write,
  NvmOpcode.Compare,
  NvmOpcode.Verify,
  NvmOpcode.WriteZeroes,
];
/** Virtual time that a queue has for an answer, or to end: retries of the transport take seconds. */
const PATIENCE_NS = 120e9;
