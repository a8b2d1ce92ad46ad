/**
 * Symptom: a command of NVMe over Fabrics that never completes.
 *
 * Owns the finding, one for each host and controller. A connection is a queue when its REQ has the private data of one
 * and its first command is Connect. A command is stuck when all of this holds:
 * - there is no response to it, and responses that the capture lacks are none (`unseenPackets`);
 * - it arrived: it was acknowledged, or a later command of its queue was answered;
 * - the controller answered commands that were sent after it, on this queue or on others that it had then, for five
 *   seconds; for one second where the queue was disconnected; for no longer than that where the host sent Abort; or it
 *   answered nothing at all any more, though its adapter acknowledges, for five seconds until the queue was disconnected;
 * - that is four times as long as the slowest command of the queue took.
 * A command that is answered only when something happens (Asynchronous Event Request) is never stuck, nor is one that
 * may take minutes (Format, Sanitize, and others of the admin queue), unless the host aborts it. An error where the
 * host aborted it or disconnected the queue, else a warning: the answer may still come. Nothing is said of commands
 * that went down with their connection: then nothing later was answered.
 * Rules: ref:nvmeof#1, ref:nvmeof#2, ref:nvmeof#4.
 */
import { IP_CM_HEADER_BYTES, RdmaPortSpace } from '../../../packets/cm/index.ts';
import { OpFlag } from '../../../packets/opcode.ts';
import { IcrcState } from '../../dissection.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import { type PacketFacts, Role } from '../facts.ts';
import { PacketKind } from '../packet-kind.ts';
import type { ConversationReport } from '../types.ts';
import { cmSighting, remember } from './cm-reading.ts';
import { mergedFrames } from './frame-list.ts';
import { NvmeQueue, type OutstandingCommand } from './nvme-queue.ts';
import { counted, duration } from './words.ts';

export const NVME_NO_COMPLETION: Symptom = {
  id: 'nvme-no-completion',
  row: 0,
  title: 'An NVMe command that never completes',
  complaint:
    'A program hangs in a read, a write or fsync; the host log has "I/O tag ... timeout" and resets the controller; other I/O goes on.',
  about:
    'Each command of NVMe over Fabrics is one capsule, and its response is another, with the same identifier. RDMA has delivered the command: it is ' +
    'acknowledged, and the controller answers what came after it, or nothing at all any more. So the command waits in the target: its disk does not answer, ' +
    'the target lost it, or it hangs as a whole. ' +
    'A host waits 30 s by default, then asks to abort the command or resets the controller.',
  advice: [
    'Look at the disk behind the target: its log, its latency, whether it hangs; and at the log of the target itself.',
    'Find out whether it is always the same opcode or the same blocks: the capsule in the named packet has them.',
  ],
  commands: [
    'dmesg | grep nvme',
    'nvme error-log /dev/nvme0',
    'tshark -r CAPTURE -Y "nvme-rdma && frame.number == N" -V',
  ],
  make: () => new NvmeNoCompletion(),
};

/** A command that is stuck, with what shows it. */
interface StuckCommand {
  readonly queue: NvmeQueue;
  readonly conversation: ConversationReport;
  readonly command: OutstandingCommand;
  /** How long the controller is known to have answered later commands. */
  readonly waitedNs: number;
  /** The last of these responses; 0: the controller answered nothing more. */
  readonly aliveFrame: number;
}

class NvmeNoCompletion implements Detector {
  /** Data only once there is a queue: nearly all captures have none. */
  interest: number = PacketKind.Other | PacketKind.Management;
  /** Numbers of the queues that were asked for, by the packet of the REQ. */
  readonly #asked = new Map<number, number>();
  /** By conversation; null: none. */
  readonly #byConversation: (NvmeQueue | null | undefined)[] = [];
  readonly #queues: NvmeQueue[] = [];

  packet(facts: PacketFacts): void {
    if (facts.role === Role.Management) {
      this.#management(facts);
      return;
    }
    const { conversation, role, icrc, sender, dissection } = facts;
    const { flags } = dissection.frame;
    if (role !== Role.Request || conversation?.cm === undefined || icrc === IcrcState.Bad) return;
    if ((flags & OpFlag.Send) === 0 || (flags & BEGINS) === 0) return;
    const queue = this.#queueOf(conversation);
    if (queue === undefined) return;
    if (sender !== conversation.cm.activeEnd) {
      queue.response(facts);
      return;
    }
    const abort = queue.command(facts);
    if (abort === undefined) return;
    for (const other of this.#queues)
      if (other.qid === abort.qid && other.controller === queue.controller) other.abort(abort.cid, facts.packet.number);
  }

  finish(context: DetectorContext): void {
    const found = new Map<string, StuckCommand[]>();
    for (const queue of this.#queues) {
      const conversation = context.conversation(queue.conversation);
      if (conversation === undefined || conversation.sameAs !== 0 || queue.unreadable) continue;
      const stuck = this.#stuckIn(queue, conversation);
      if (stuck.length > 0) found.set(queue.controller, [...(found.get(queue.controller) ?? []), ...stuck]);
    }
    for (const stuck of [...found.values()].slice(0, MOST_FINDINGS)) report(context, stuck);
  }

  #management(facts: PacketFacts): void {
    const sighting = cmSighting(facts);
    if (sighting?.message.kind !== 'REQ') return;
    const { serviceId, privateData } = sighting.message.body;
    const qid = queueAskedFor(serviceId, privateData);
    if (qid === undefined) return;
    remember(this.#asked, sighting.frame, qid, MOST_QUEUES);
    this.interest = PacketKind.Other | PacketKind.Management | PacketKind.Data | PacketKind.UcData;
  }

  #queueOf(conversation: ConversationReport): NvmeQueue | undefined {
    const { id, cm, ends, interfaceIndex } = conversation;
    const known = this.#byConversation[id];
    if (known !== undefined) return known ?? undefined;
    const qid = cm === undefined ? undefined : this.#asked.get(cm.reqFrame);
    this.#byConversation[id] = null;
    if (cm === undefined || qid === undefined || this.#queues.length >= MOST_QUEUES) return undefined;
    const [host, controller] = cm.activeEnd === 0 ? ends : [ends[1], ends[0]];
    const queue = new NvmeQueue(qid, id, `${interfaceIndex} ${host.address} ${controller.address} ${cm.serviceId}`);
    this.#byConversation[id] = queue;
    this.#queues.push(queue);
    return queue;
  }

  #stuckIn(queue: NvmeQueue, conversation: ConversationReport): StuckCommand[] {
    const { cm, ends } = conversation;
    if (cm === undefined) return [];
    const [host, controller] = cm.activeEnd === 0 ? ends : [ends[1], ends[0]];
    // A response may be among them.
    if (controller.requester.unseenPackets > 0) return [];
    return queue.outstanding().flatMap((command) => {
      const { later, laterNs, laterFrame, timeNs, abortFrame } = command;
      if (abortFrame === 0 && queue.qid === 0 && MAY_TAKE_LONG.includes(command.opcode)) return [];
      const arrived = later > 0 || host.requester.unansweredPsn < 0;
      let [aliveNs, aliveFrame] = [laterNs, laterFrame];
      for (const { controller: whose, startNs, last } of this.#queues)
        if (whose === queue.controller && startNs < timeNs && last.sentNs > timeNs && last.timeNs > aliveNs)
          [aliveNs, aliveFrame] = [last.timeNs, last.frame];
      const silent = aliveFrame === 0;
      if (silent && cm.dreqFrame === 0) return [];
      const waitedNs = (silent ? conversation.endNs : aliveNs) - timeNs;
      const patienceNs = cm.dreqFrame > 0 && !silent ? LOST_NS : STUCK_NS;
      const least = abortFrame > 0 ? 0 : Math.max(patienceNs, SLOWER * queue.slowestNs);
      return arrived && waitedNs >= least ? [{ queue, conversation, command, waitedNs, aliveFrame }] : [];
    });
  }
}

/** The queue that the private data of a REQ asks for; undefined where it is none of NVMe. */
function queueAskedFor(serviceId: bigint, privateData: Uint8Array): number | undefined {
  if ((serviceId & ~0xff_ffn) !== RdmaPortSpace.Tcp) return undefined;
  const asked = privateData.subarray(IP_CM_HEADER_BYTES, IP_CM_HEADER_BYTES + REQUEST_BYTES);
  if (asked.length < REQUEST_BYTES) return undefined;
  const view = new DataView(asked.buffer, asked.byteOffset, asked.length);
  const [format, qid, received, sent] = [0, 2, 4, 6].map((at) => view.getUint16(at, true));
  const sizes = received !== undefined && sent !== undefined && received >= 2 && sent >= 1 && sent <= received;
  return format === 0 && sizes && asked.subarray(RESERVED_AT).every((byte) => byte === 0) ? qid : undefined;
}

function report(context: DetectorContext, stuck: readonly StuckCommand[]): void {
  const sorted = [...stuck].sort((a, b) => a.command.frame - b.command.frame);
  const [first] = sorted;
  if (first === undefined) return;
  const { queue, conversation, command, waitedNs, aliveFrame } = first;
  const { ends, cm } = conversation;
  const [host, controller] = cm?.activeEnd === 1 ? [ends[1], ends[0]] : ends;
  const dreqFrame = cm?.dreqFrame ?? 0;
  const here = command.later > 0 ? `, ${counted(command.later, 'command')} of this queue among them` : '';
  const meanwhile =
    aliveFrame > 0
      ? `while the controller answered what was sent after it for ${duration(waitedNs)}${here}`
      : `and in ${duration(waitedNs)} the controller answered nothing more, while its adapter acknowledged`;
  const end =
    command.abortFrame > 0
      ? ` The host asked to abort it in frame ${command.abortFrame}.`
      : dreqFrame > 0
        ? ` The queue was disconnected with it in frame ${dreqFrame}.`
        : '';
  const others =
    sorted.length === 1
      ? ''
      : ` So ${sorted.length === 2 ? 'is' : 'are'} ${counted(sorted.length - 1, 'more command')} of these hosts.`;
  const gaveUp = sorted.some((each) => each.command.abortFrame > 0 || (each.conversation.cm?.dreqFrame ?? 0) > 0);
  const proof = sorted.map((each) => [
    ...[each.command.frame, each.command.abortFrame, each.aliveFrame],
    each.conversation.cm?.dreqFrame ?? 0,
  ]);
  context.report({
    severity: gaveUp ? 'error' : 'warning',
    text:
      `The NVMe command ${commandName(queue.qid, command.opcode)} that ${host.address} sent to ${controller.address} in frame ${command.frame} ` +
      `(identifier ${command.cid}, queue ${queue.qid}) was delivered and has no response, ${meanwhile}.${end}${others}`,
    frames: mergedFrames(proof),
    frameCount: new Set(proof.flat().filter((frame) => frame > 0)).size,
    conversations: [...new Set(sorted.map((each) => each.conversation.id))],
    evidence: {
      host: host.address,
      controller: controller.address,
      queue: queue.qid,
      identifier: command.cid,
      opcode: command.opcode,
      commands: sorted.length,
      waitedNs,
      laterResponses: command.later,
      slowestNs: queue.slowestNs,
      gaveUp: gaveUp ? 'yes' : 'no',
    },
  });
}

/** "Read", "Identify", "with opcode 0x99". */
function commandName(qid: number, opcode: number): string {
  const name = (qid === 0 ? ADMIN_NAMES : NVM_NAMES).get(opcode);
  return name ?? (opcode === FABRICS ? 'of Fabrics' : `with opcode 0x${opcode.toString(16).padStart(2, '0')}`);
}

const NVM_NAMES: ReadonlyMap<number, string> = new Map([
  [0x00, 'Flush'],
  [0x01, 'Write'],
  [0x02, 'Read'],
  [0x05, 'Compare'],
  [0x08, 'Write Zeroes'],
  [0x09, 'Dataset Management'],
  [0x0c, 'Verify'],
]);
const ADMIN_NAMES: ReadonlyMap<number, string> = new Map([
  [0x02, 'Get Log Page'],
  [0x06, 'Identify'],
  [0x08, 'Abort'],
  [0x09, 'Set Features'],
  [0x0a, 'Get Features'],
  [0x0c, 'Asynchronous Event Request'],
  [0x18, 'Keep Alive'],
]);
const FABRICS = 0x7f;
/** Asynchronous events; firmware, self-test, namespaces; formats, security, sanitize. */
const MAY_TAKE_LONG: readonly number[] = [0x0c, 0x0d, 0x10, 0x11, 0x14, 0x15, 0x80, 0x81, 0x82, 0x84];
/** Begins a message: has the capsule's first bytes. */
const BEGINS = OpFlag.First | OpFlag.Only;
/** Private data of a queue, and where its reserved bytes begin. */
const REQUEST_BYTES = 32;
const RESERVED_AT = 10;
const STUCK_NS = 5_000_000_000;
const LOST_NS = 1_000_000_000;
const SLOWER = 4;
const MOST_QUEUES = 4096;
const MOST_FINDINGS = 8;
