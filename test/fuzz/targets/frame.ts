/**
 * `parseFrame`, everything that prints or lists a frame, and the way back: a packet as a value, built again. An input is
 * flags 1 (1: bare IP; 2: lengths, checksums and ICRC are made right first) | frame.
 */
import {
  Frame,
  FrameStatus,
  formatFrame,
  formatFrameDetails,
  frameDestination,
  frameFields,
  frameSource,
  frameStatusName,
  icrcMatches,
  listFrame,
  Medium,
  mapFrame,
  OPCODES,
  opcodeInfo,
  parseFrame,
} from '../../../packets/index.ts';
import { buildFrame, packetOf, sightingOf } from '../../../packets/kit/index.ts';
import { everyFrame } from '../../tools/verify/every-frame.ts';
import { RXE_FRAMES } from '../../vectors/rxe-frames.ts';
import { type FuzzTarget, promise } from '../engine/target.ts';
import { fixFrame } from './support/fix-up.ts';
import { OUR_MAC, THEIR_MAC } from './support/lone-device.ts';

const BARE_IP = 1;
const FIX = 2;

function run(input: Uint8Array): string {
  const flags = input[0] ?? 0;
  const medium = (flags & BARE_IP) === 0 ? Medium.Ethernet : Medium.Ip;
  const bytes = input.slice(1);
  if ((flags & FIX) !== 0) fixFrame(bytes, medium === Medium.Ethernet);
  const { frame, status } = parsed(bytes, medium, 0x00, 3);
  const known = describe(frame, status);
  // What lies around a frame is no part of it.
  const other = parsed(bytes, medium, 0xff, 64);
  promise(other.status === status && describe(other.frame, status) === known, 'bytes outside of a frame do not count');
  if (status !== FrameStatus.Ok) return frameStatusName(status);
  checkBounds(frame);
  rebuild(frame, medium);
  return `${opcodeInfo(frame.opcode)?.name ?? 'opcode'} over IPv${frame.ipVersion}`;
}

function parsed(bytes: Uint8Array, medium: Medium, around: number, start: number) {
  const memory = new Uint8Array(start + bytes.length + 64).fill(around);
  memory.set(bytes, start);
  const frame = new Frame();
  const view = new DataView(memory.buffer);
  return { frame, status: parseFrame(memory, view, start, start + bytes.length, medium, frame) };
}

/** All that is said of a frame anywhere. */
function describe(frame: Frame, status: FrameStatus): string {
  const icrcOk = status === FrameStatus.Ok && icrcMatches(frame);
  const fields = frameFields(frame, status, icrcOk);
  listFrame(frame, status, icrcOk);
  const mapped = mapFrame(frame, status).map(({ name }) => name);
  const raw = Object.entries(frame).map(([name, value]: [string, unknown]) => {
    const place = typeof value === 'number' && /Offset|start|end|ipEnd/.test(name) && value >= 0;
    return typeof value === 'object' ? name : place ? value - frame.start : value;
  });
  const hasBth = frame.bthOffset >= 0;
  const sighting = hasBth ? sightingOf(frame, status, 0).packet : {};
  return JSON.stringify(
    [raw, fields, mapped, formatFrame(frame, status, icrcOk), formatFrameDetails(frame, status, icrcOk), sighting],
    (_key, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value),
  );
}

function checkBounds(frame: Frame): void {
  const { start, end, ipOffset, l4Offset, bthOffset, payloadOffset, payloadLength, padCount, icrcOffset, ipEnd } =
    frame;
  const order = [
    start,
    ipOffset,
    l4Offset,
    bthOffset,
    payloadOffset,
    payloadOffset + payloadLength,
    icrcOffset,
    ipEnd,
    end,
  ];
  promise(
    order.every((at, i) => i === 0 || at >= (order[i - 1] ?? 0)),
    'the parts of a frame are in order, and inside it',
  );
  promise(payloadOffset + payloadLength + padCount === icrcOffset, 'the pad ends where the ICRC begins');
}

/** The value of a packet makes the packet again: all that follows the BTH, and the BTH but for reserved bits. */
function rebuild(frame: Frame, medium: Medium): void {
  const packet = { ...packetOf(frame), pad: frame.padCount, pkey: frame.pkey, migReq: frame.migReq };
  const route = {
    ...{
      medium,
      sourceMac: THEIR_MAC,
      destMac: OUR_MAC,
      source: frameSource(frame),
      destination: frameDestination(frame),
    },
    ...{ sourcePort: frame.sourcePort, trafficClass: frame.trafficClass, hopLimit: frame.hopLimit, flowLabel: 0 },
  };
  const again = buildFrame({ ...packet, fecn: frame.fecn, becn: frame.becn }, route, frame.destQpn, 0);
  const { frame: second, status } = parsed(again, medium, 0, 0);
  promise(status === FrameStatus.Ok && icrcMatches(second), 'what was built of a packet parses');
  const text = (of: Frame): string =>
    JSON.stringify(
      [packetOf(of), of.destQpn, of.pkey, of.fecn, of.becn, of.migReq, of.padCount],
      (_key, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value),
    );
  promise(text(second) === text(frame), 'what was built of a packet is the packet');
}

export const target: FuzzTarget = {
  name: 'frame',
  maxBytes: 600,
  words: OPCODES.map(({ code }) => Uint8Array.of(code, 0, 0xff, 0xff)),
  seeds: () => [
    ...everyFrame(30).map(({ medium, bytes }) =>
      Uint8Array.from([medium === Medium.Ip ? BARE_IP | FIX : FIX, ...bytes]),
    ),
    ...RXE_FRAMES.map(({ hex }) => Uint8Array.from([0, ...Buffer.from(hex, 'hex')])),
  ],
  run,
};
