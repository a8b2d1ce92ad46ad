/**
 * TCP of a device: a listener, an established connection with data both ways, and a connect under way. An input is a
 * list of segments from the peer. Flags: 1: lengths and checksum are made right; 2: of the established connection; 4:
 * its sequence number is near the expected one; 8: it acknowledges near what was sent; 16: 300 ms pass first; 32: time
 * passes until the next deadline; 64: the application writes, 128: it closes, first.
 */
import { type Frame, type FrameStatus, FrameStatus as Status } from '../../../packets/index.ts';
import { IP_PROTOCOL_TCP } from '../../../packets/network.ts';
import type { TcpSocket } from '../../../src/device/host/tcp/index.ts';
import { readSegment, segmentFrame, TcpFlag } from '../../../src/device/host/tcp/segment.ts';
import { packRecords, unpackRecords } from '../engine/records.ts';
import { type FuzzTarget, promise } from '../engine/target.ts';
import { fixFrame } from './support/fix-up.ts';
import { LoneDevice, OUR_MAC, OURS, THEIR_MAC, THEIRS } from './support/lone-device.ts';
import { isRefusal } from './support/refusal.ts';

const Flag = { Fix: 1, Known: 2, Seq: 4, Ack: 8, Later: 16, Deadline: 32, Write: 64, Close: 128 } as const;
const PORT = 80;
const THEIR_PORT = 5000;
const ISS = 1000;
const TCP_AT = 34;
const END_CODES = ['ERR_ROCE_CLOSED', 'ERR_ROCE_TIMEOUT', 'ERR_ROCE_REJECTED', 'ERR_ROCE_STATE'] as const;

const routeFrom = (sourcePort: number) => ({
  ...{ sourceMac: THEIR_MAC, destMac: OUR_MAC, source: THEIRS, destination: OURS, sourcePort, destPort: PORT },
});

class Talk {
  /** The number behind the last byte that the device sent on the established connection. */
  theirNext = 0;
  readonly lone = new LoneDevice((_bytes, _view, frame, status) => this.#sees(frame, status));
  readonly accepted: TcpSocket[] = [];
  outcome = 'nothing';

  #sees(frame: Frame, status: FrameStatus): void {
    if (status !== Status.NotUdp || frame.protocol !== IP_PROTOCOL_TCP) return;
    const segment = readSegment(frame);
    promise(segment !== undefined, 'what TCP sends is a segment with a right checksum');
    if (segment.destPort !== THEIR_PORT || segment.sourcePort !== PORT) return;
    const length = segment.data.length + (segment.flags & TcpFlag.Syn ? 1 : 0) + (segment.flags & TcpFlag.Fin ? 1 : 0);
    this.theirNext = (segment.seq + length) >>> 0;
  }

  async begin(): Promise<void> {
    const tcp = tcpOf(this.lone);
    const listener = tcp.listen(PORT, { backlog: 4 });
    void this.#accept(listener.next());
    void tcp.connect(THEIRS, 81).then(
      () => undefined,
      (error: unknown) => isRefusal(error, ...END_CODES),
    );
    this.lone.transmit();
    this.#send(TcpFlag.Syn, ISS, 0);
    this.#send(TcpFlag.Ack, ISS + 1, this.theirNext);
    await turns();
    promise(this.accepted.length === 1, 'the handshake is done');
  }

  #send(flags: number, seq: number, ack: number): void {
    this.lone.receive(segmentFrame(routeFrom(THEIR_PORT), { seq, ack, flags, window: 5000, data: new Uint8Array(0) }));
    this.lone.transmit();
  }

  async #accept(next: Promise<IteratorResult<TcpSocket>>): Promise<void> {
    const { value, done } = await next;
    if (done === true) return;
    this.accepted.push(value);
    try {
      for (let size = 1; ; size = (size % 7) + 1) await value.read(size);
    } catch (error) {
      this.outcome = isRefusal(error, ...END_CODES).slice(0, 40);
    }
  }

  /** Does what the application does at this flag. */
  act(flags: number): void {
    const [socket] = this.accepted;
    const ignore = (error: unknown): void => void isRefusal(error, ...END_CODES);
    if ((flags & Flag.Write) !== 0) void socket?.write(new Uint8Array(3000)).catch(ignore);
    if ((flags & Flag.Close) !== 0) void socket?.close().catch(ignore);
  }
}

async function run(input: Uint8Array): Promise<string> {
  const talk = new Talk();
  const { lone } = talk;
  await talk.begin();
  let next = ISS + 1;
  for (const { flags, bytes } of unpackRecords(input).slice(0, 24)) {
    if ((flags & Flag.Later) !== 0) lone.advance(3e8);
    if ((flags & Flag.Deadline) !== 0) lone.advance(1e12);
    talk.act(flags);
    next = adjust(bytes, flags, next, talk.theirNext);
    lone.receive(bytes);
    lone.transmit();
    await turns();
  }
  for (let turn = 0; turn < 20; turn++) {
    lone.advance(1e11);
    lone.transmit();
  }
  await turns();
  const { counters } = tcpOf(lone);
  const counted = Object.entries(counters).filter(([, count]) => count > 0);
  return `${talk.outcome}; ${counted.map(([name]) => name).join(' ')}`;
}

/** Returns the next sequence number of the peer. */
function adjust(bytes: Uint8Array, flags: number, next: number, theirNext: number): number {
  if (bytes.length < TCP_AT + 20) return next;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let after = next;
  if ((flags & Flag.Known) !== 0) {
    view.setUint16(TCP_AT, THEIR_PORT);
    view.setUint16(TCP_AT + 2, PORT);
  }
  if ((flags & Flag.Seq) !== 0) {
    const by = view.getUint8(TCP_AT + 7);
    const exact = by < 128;
    view.setUint32(TCP_AT + 4, (next + (exact ? 0 : by - 192)) >>> 0);
    const header = (view.getUint8(TCP_AT + 12) >>> 4) * 4;
    if (exact) after = (next + Math.max(0, bytes.length - TCP_AT - header) + (view.getUint8(TCP_AT + 13) & 1)) >>> 0;
  }
  if ((flags & Flag.Ack) !== 0) {
    const by = view.getUint8(TCP_AT + 11);
    view.setUint32(TCP_AT + 8, (theirNext + (by < 128 ? 0 : by - 192)) >>> 0);
  }
  if ((flags & Flag.Fix) !== 0) fixFrame(bytes, true);
  return after;
}

function tcpOf({ device: { tcp } }: LoneDevice) {
  promise(tcp !== undefined, 'a device on Ethernet has TCP');
  return tcp;
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 6; turn++) await undefined;
}

function seeds(): Uint8Array[] {
  const all = Flag.Fix | Flag.Known | Flag.Seq | Flag.Ack;
  const data = new Uint8Array(10).fill(7);
  const segment = (
    flags: number,
    more: { data?: Uint8Array; mss?: number; window?: number } = {},
    from = THEIR_PORT,
  ): Uint8Array =>
    segmentFrame(routeFrom(from), { seq: 0, ack: 0, flags, window: 4000, data: new Uint8Array(0), ...more });
  const one = (flags: number, bytes: Uint8Array) => ({ flags, bytes });
  const carries = one(all, segment(TcpFlag.Ack | TcpFlag.Psh, { data }));
  return [
    [carries, carries],
    [
      carries,
      one(all, segment(TcpFlag.Ack | TcpFlag.Fin)),
      one(all | Flag.Close, segment(TcpFlag.Ack)),
      one(all, segment(TcpFlag.Ack)),
    ],
    [
      one(all | Flag.Write, segment(TcpFlag.Ack)),
      one(all, segment(TcpFlag.Ack)),
      one(all | Flag.Deadline, segment(TcpFlag.Ack)),
      one(all | Flag.Write | Flag.Deadline, segment(TcpFlag.Ack, { window: 0 })),
    ],
    [one(all, segment(TcpFlag.Rst))],
    [
      one(all | Flag.Close, segment(TcpFlag.Ack)),
      one(all, segment(TcpFlag.Ack | TcpFlag.Fin)),
      one(all | Flag.Deadline, segment(TcpFlag.Syn)),
    ],
    [one(Flag.Fix, segment(TcpFlag.Syn, { mss: 500 }, 5001)), one(Flag.Fix, segment(TcpFlag.Ack, {}, 5002))],
    [one(Flag.Fix, segment(TcpFlag.Syn | TcpFlag.Ack, {}, 81)), one(0, segment(TcpFlag.Ack))],
  ].map(packRecords);
}

export const target: FuzzTarget = { name: 'tcp', records: true, maxBytes: 3000, seeds, run };
