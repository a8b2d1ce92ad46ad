/** Which commands of a queue have no response: capsules one by one, as a detector hands them on. */
import { beforeEach, expect, it } from 'vitest';
import { NvmeQueue } from '../../../../pcap/analysis/detectors/nvme-queue.ts';
import type { PacketFacts } from '../../../../pcap/analysis/facts.ts';

const [WRITE, READ, ABORT, WRITE_ZEROES, FABRICS] = [0x01, 0x02, 0x08, 0x08, 0x7f];
const CONNECT = 0x01;
let frames = 0;
let psn = 0;

beforeEach(() => {
  frames = psn = 0;
});

/** A packet with this payload, a second after the one before. */
function facts(payload: Uint8Array, relativePsn: number, capturedBytes = payload.length): PacketFacts {
  frames++;
  const view = new DataView(payload.buffer, payload.byteOffset, payload.length);
  const frame = { view, payloadOffset: 0, payloadLength: payload.length };
  const dissection = { frame, cut: capturedBytes < payload.length, capturedEnd: capturedBytes };
  return { packet: { number: frames }, timeNs: frames * 1e9, relativePsn, dissection } as unknown as PacketFacts;
}

interface Fields {
  readonly opcode?: number;
  /** Bytes from 40 on: what an Abort names. */
  readonly names?: readonly [qid: number, cid: number];
  /** Default: the next. */
  readonly at?: number;
  readonly bytes?: number;
  readonly captured?: number;
}

function command(cid: number, { opcode = READ, names = [0, 0], at = psn++, bytes = 64, captured }: Fields = {}) {
  const payload = new Uint8Array(bytes);
  const view = new DataView(payload.buffer);
  view.setUint8(0, opcode);
  view.setUint16(2, cid, true);
  if (opcode === FABRICS) view.setUint8(4, CONNECT);
  if (bytes >= 44) for (const [i, name] of names.entries()) view.setUint16(40 + 2 * i, name, true);
  return facts(payload, at, captured);
}

function response(cid: number, bytes = 16, captured?: number): PacketFacts {
  const payload = new Uint8Array(bytes);
  if (bytes >= 14) new DataView(payload.buffer).setUint16(12, cid, true);
  return facts(payload, 0, captured);
}

/** A queue whose Connect, with identifier 0, was answered. */
function connected(qid = 1): NvmeQueue {
  const queue = new NvmeQueue(qid, 1, 'a controller');
  queue.command(command(0, { opcode: FABRICS }));
  queue.response(response(0));
  return queue;
}

const cids = (queue: NvmeQueue): number[] => queue.outstanding().map(({ cid }) => cid);

it('has what was sent and not answered, in the order of sending, whichever was answered meanwhile', () => {
  const queue = connected();
  for (const cid of [1, 2, 3, 4, 5]) queue.command(command(cid));
  for (const cid of [2, 1]) queue.response(response(cid));
  expect(cids(queue)).toEqual([3, 4, 5]);
  for (const cid of [6, 2]) queue.command(command(cid));
  for (const cid of [4, 6]) queue.response(response(cid));
  expect(cids(queue)).toEqual([3, 5, 2]);
  expect(queue.outstanding().map(({ later }) => later)).toEqual([2, 1, 0]);
});

it('counts responses to later commands, and knows the last; what was sent before is no sign', () => {
  const queue = connected();
  for (const cid of [1, 2, 3]) queue.command(command(cid));
  queue.response(response(1));
  expect(queue.outstanding()[0]).toMatchObject({ cid: 2, later: 0, laterFrame: 0, laterNs: 0 });
  queue.response(response(3));
  expect(queue.outstanding()).toMatchObject([{ cid: 2, frame: 4, later: 1, laterFrame: 7, laterNs: 7e9 }]);
  expect(queue.last).toEqual({ frame: 7, timeNs: 7e9, sentNs: 5e9 });
});

it('remembers the slowest command, not the last', () => {
  const queue = connected();
  queue.command(command(1));
  queue.command(command(2));
  queue.response(response(1));
  queue.response(response(2));
  queue.command(command(3));
  queue.response(response(3));
  expect([queue.startNs, queue.slowestNs]).toEqual([1e9, 2e9]);
});

it('begins each command anew, where the place of another is used', () => {
  const queue = connected();
  queue.command(command(1));
  queue.command(command(2));
  queue.response(response(2));
  queue.abort(1, 99);
  queue.response(response(1));
  queue.command(command(3, { opcode: WRITE }));
  expect(queue.outstanding()).toMatchObject([{ opcode: WRITE, later: 0, laterFrame: 0, laterNs: 0, abortFrame: 0 }]);
});

it('takes a repetition for what it is, and an identifier that is used again for another command', () => {
  const queue = connected();
  queue.command(command(1, { at: 5 }));
  queue.response(response(1));
  queue.command(command(1, { at: 5 }));
  queue.command(command(7, { at: 3 }));
  expect(cids(queue)).toEqual([]);
  queue.command(command(1, { at: 6 }));
  queue.command(command(1, { at: 7 }));
  expect(queue.outstanding()).toMatchObject([{ cid: 1, frame: frames }]);
  queue.command(command(8, { at: Number.NaN }));
  expect(cids(queue)).toEqual([1]);
});

it('reads an Abort on the admin queue and nowhere else, and keeps the first for each command', () => {
  const names = [3, 0x1234] as const;
  expect(connected(0).command(command(1, { opcode: ABORT, names }))).toEqual({ qid: 3, cid: 0x1234 });
  expect(connected(0).command(command(1, { opcode: READ, names }))).toBeUndefined();
  expect(connected(0).command(command(1, { opcode: ABORT, names, captured: 43 }))).toBeUndefined();
  expect(connected(1).command(command(1, { opcode: WRITE_ZEROES, names }))).toBeUndefined();
  const queue = connected();
  queue.command(command(1));
  for (const [cid, frame] of [
    [2, 50],
    [1, 60],
    [1, 70],
  ] as const)
    queue.abort(cid, frame);
  expect(queue.outstanding()).toMatchObject([{ cid: 1, abortFrame: 60 }]);
});

it.each([
  ['begins with another command than Connect', () => command(0, { opcode: READ })],
  ['begins with another command, at whose fourth byte is what Connect has', () => withType(command(0), CONNECT)],
  ['begins with another command of Fabrics', () => withType(command(0, { opcode: FABRICS }), 0x00)],
  ['begins with a message shorter than a command', () => command(0, { opcode: FABRICS, bytes: 63 })],
])('is none when it %s', (_, first) => {
  const queue = new NvmeQueue(1, 1, 'a controller');
  queue.command(first());
  expect(queue.unreadable).toBe(true);
});

it.each([
  ['a message shorter than a command', (queue: NvmeQueue) => queue.command(command(1, { bytes: 63 }))],
  ['a command of which too little was captured', (queue: NvmeQueue) => queue.command(command(1, { captured: 7 }))],
  ['a message longer than a response', (queue: NvmeQueue) => queue.response(response(0, 17))],
  ['a message shorter than a response', (queue: NvmeQueue) => queue.response(response(0, 15))],
  ['a response of which too little was captured', (queue: NvmeQueue) => queue.response(response(0, 16, 13))],
  ['more commands than any host has', (queue) => Array.from({ length: 1025 }, (_, i) => queue.command(command(i)))],
] as [string, (queue: NvmeQueue) => unknown][])('cannot be read from %s on', (_, happens) => {
  const queue = connected();
  expect(queue.unreadable).toBe(false);
  happens(queue);
  expect(queue.unreadable).toBe(true);
});

it('needs no more of a command than its first eight bytes', () => {
  const queue = connected();
  queue.command(command(1, { captured: 8 }));
  expect([queue.unreadable, cids(queue)]).toEqual([false, [1]]);
});

function withType(packet: PacketFacts, type: number): PacketFacts {
  packet.dissection.frame.view.setUint8(4, type);
  return packet;
}
