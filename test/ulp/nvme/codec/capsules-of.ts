/**
 * Capsules and data of NVMe out of a capture without loss, with the frames that they came in: what tests compare our
 * codecs and tshark on. Queues are learnt from the connection manager, which end is the host by who sent the REQ.
 */
import { type CmMessage, parseCmMad } from '../../../../packets/cm/index.ts';
import { IP_CM_HEADER_BYTES } from '../../../../packets/cm/ip-cm-header.ts';
import { type Frame, FrameStatus, frameSource, isMad, opcodeInfo } from '../../../../packets/index.ts';
import { readReth } from '../../../../packets/reth.ts';
import type { CapturedPacket } from '../../../../pcap/types.ts';
import {
  CM_REQUEST,
  NvmeCommand,
  NvmeCompletion,
  readCommand,
  readCompletion,
} from '../../../../src/ulp/nvme/codec/index.ts';
import { decodeFrame } from '../../../interop/frame-decoder.ts';

/** A SEND, an RDMA WRITE, an RDMA READ request or its response, whole. */
export interface Message {
  readonly kind: 'send' | 'write' | 'read' | 'read-response';
  readonly fromHost: boolean;
  /** Identifier of the queue. */
  readonly qid: number;
  readonly bytes: Uint8Array;
  /** Numbers of its frames, from 1, and where the payload of each begins in the message. */
  readonly frames: readonly { readonly number: number; readonly offset: number }[];
  /** Of a WRITE, or of the READ that was answered: where the data is at the host. */
  readonly remote?: { readonly address: bigint; readonly key: number };
  /** Of a command capsule. */
  readonly command?: NvmeCommand;
  /** Of a response capsule. */
  readonly completion?: NvmeCompletion;
  /** Of a response or of data: the command that it belongs to. */
  readonly of?: Message;
}

/** A message of the connection manager with private data. */
export interface ManagementMessage {
  readonly number: number;
  readonly message: CmMessage;
  /** What is NVMe's. */
  readonly privateData: Uint8Array;
}

export interface CapturedQueues {
  readonly messages: readonly Message[];
  readonly management: readonly ManagementMessage[];
}

interface Queue {
  qid: number;
  /** Its address. */
  host: string;
  hostQpn: number;
  targetQpn: number;
  /** READ requests of the target that are not answered. */
  reads: NonNullable<Message['remote']>[];
  commands: Message[];
}

type Open = { -readonly [K in keyof Message]: Message[K] } & {
  parts: Uint8Array[];
  frames: { number: number; offset: number }[];
};

export function readQueues(packets: Iterable<CapturedPacket>): CapturedQueues {
  const reader = new QueueReader();
  let number = 0;
  for (const { bytes } of packets) reader.packet(++number, bytes);
  return reader;
}

class QueueReader implements CapturedQueues {
  readonly messages: Message[] = [];
  readonly management: ManagementMessage[] = [];
  readonly #queues: Queue[] = [];
  readonly #open = new Map<string, Open>();
  readonly #asked = new Map<string, Queue>();

  packet(number: number, bytes: Uint8Array): void {
    const { frame, status } = decodeFrame(bytes);
    if (status !== FrameStatus.Ok) return;
    if (isMad(frame)) this.#manage(number, frame);
    else this.#carry(number, frame, bytes);
  }

  #manage(number: number, frame: Frame): void {
    const mad = parseCmMad(frame.view, frame.payloadOffset, frame.payloadLength);
    if (typeof mad !== 'object' || !('privateData' in mad.message.body)) return;
    const { message } = mad;
    const { kind, body } = message;
    const isRequest = kind === 'REQ';
    const privateData = mad.message.body.privateData.slice(isRequest ? IP_CM_HEADER_BYTES : 0);
    this.management.push({ number, message, privateData });
    if (isRequest) {
      const qid = CM_REQUEST.read(privateData)?.qid ?? -1;
      this.#asked.set(`${frameSource(frame)} ${body.localCommId}`, {
        qid,
        host: frameSource(frame).toString(),
        hostQpn: body.localQpn,
        targetQpn: -1,
        reads: [],
        commands: [],
      });
    }
    if (kind !== 'REP') return;
    const queue = [...this.#asked].find(([key]) => key.endsWith(` ${body.remoteCommId}`))?.[1];
    if (queue === undefined) return;
    queue.targetQpn = body.localQpn;
    // The newest first: numbers of queue pairs are used again.
    this.#queues.unshift(queue);
  }

  #carry(number: number, frame: Frame, bytes: Uint8Array): void {
    const { name } = opcodeInfo(frame.opcode);
    const source = frameSource(frame).toString();
    const queue = this.#queues.find(
      ({ host, hostQpn, targetQpn }) => frame.destQpn === (source === host ? targetQpn : hostQpn),
    );
    if (queue === undefined) return;
    const fromHost = source === queue.host;
    const kind = KINDS.find(([pattern]) => pattern.test(name))?.[1];
    if (kind === undefined) return;
    const key = `${source} ${frame.destQpn} ${kind}`;
    const isRead = kind === 'read';
    if (isRead) queue.reads.push(remoteOf(frame));
    const begins = isRead || /First|Only/.test(name);
    const open = begins ? this.#begin(kind, fromHost, queue, frame) : this.#open.get(key);
    if (open === undefined) return;
    const offset = open.parts.reduce((sum, { length }) => sum + length, 0);
    open.frames.push({ number, offset });
    open.parts.push(bytes.slice(frame.payloadOffset, frame.payloadOffset + frame.payloadLength));
    this.#open.set(key, open);
    if (isRead || /Last|Only/.test(name)) this.#end(open, queue);
  }

  #begin(kind: Message['kind'], fromHost: boolean, queue: Queue, frame: Frame): Open {
    const names = kind === 'write' || kind === 'read';
    const remote = names ? remoteOf(frame) : kind === 'read-response' ? queue.reads.shift() : undefined;
    const bytes = new Uint8Array(0);
    return { kind, fromHost, qid: queue.qid, bytes, frames: [], parts: [], ...(remote && { remote }) };
  }

  #end({ parts, ...message }: Open, queue: Queue): void {
    const bytes = Buffer.concat(parts);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const whole = { ...message, bytes: new Uint8Array(bytes) };
    const { kind, fromHost, remote } = whole;
    if (kind === 'send' && fromHost) {
      const command = new NvmeCommand();
      if (readCommand(view, 0, bytes.length, command)) queue.commands.unshift({ ...whole, command });
      this.messages.push(queue.commands[0] ?? whole);
      return;
    }
    const completion = new NvmeCompletion();
    const isResponse = kind === 'send' && readCompletion(view, 0, bytes.length, completion);
    const of = queue.commands.find(({ command }) =>
      isResponse ? command?.cid === completion.cid : command?.sgl.key === remote?.key && contains(command, remote),
    );
    this.messages.push({ ...whole, ...(isResponse && { completion }), ...(of && { of }) });
  }
}

function contains(command: NvmeCommand | undefined, remote: Message['remote']): boolean {
  if (command === undefined || remote === undefined) return false;
  const { address, length } = command.sgl;
  return remote.address >= address && remote.address < address + BigInt(Math.max(1, length));
}

function remoteOf(frame: Frame): NonNullable<Message['remote']> {
  const { va, rkey } = readReth(frame.view, frame.bthOffset + BTH_BYTES);
  return { address: va, key: rkey };
}

const KINDS: readonly (readonly [RegExp, Message['kind']])[] = [
  [/ SEND /, 'send'],
  [/ RDMA WRITE /, 'write'],
  [/ RDMA READ Request/, 'read'],
  [/ RDMA READ response /, 'read-response'],
];
const BTH_BYTES = 12;
