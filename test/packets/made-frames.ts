// Frames for the tests of the printers: made with the codecs, or real ones of rdma_rxe.

import { IpAddress, parseMac } from '../../packets/address.ts';
import { BTH_BYTES, writeBth } from '../../packets/bth.ts';
import { Frame, FrameStatus, Medium, parseFrame } from '../../packets/frame.ts';
import { FrameWriter } from '../../packets/frame-writer.ts';
import { HeaderTemplate, type PathSpec } from '../../packets/header-template.ts';
import { icrcMatches } from '../../packets/icrc.ts';
import { opcodeInfo } from '../../packets/opcode.ts';
import { RXE_FRAMES } from '../vectors/rxe-frames.ts';

export const PATH: PathSpec = {
  medium: Medium.Ethernet,
  sourceMac: parseMac('52:54:00:00:00:02'),
  destMac: parseMac('52:54:00:00:00:01'),
  source: IpAddress.parse('10.77.0.2'),
  destination: IpAddress.parse('10.77.0.1'),
  trafficClass: 0,
  hopLimit: 64,
  flowLabel: 0,
  sourcePort: 50_000,
};

/** A frame whose headers behind the BTH, and `payloadBytes` of payload, are written by `write`. */
export function make(
  opcode: number,
  write: (view: DataView, at: number) => void = () => {},
  path: Partial<PathSpec> = {},
  payloadBytes = 0,
) {
  const template = new HeaderTemplate({ ...PATH, ...path });
  const writer = new FrameWriter(1, 2048);
  const bth = writer.begin(template);
  writeBth(writer.view, bth, opcode, 0, 0, 0, 0xffff, 0x12, 0, 1234);
  write(writer.view, bth + BTH_BYTES);
  writer.end(template, bth + BTH_BYTES + opcodeInfo(opcode).headerBytes + payloadBytes);
  return writer.bytes.slice(0, writer.lengths[0]);
}

export function parse(bytes: Uint8Array, medium: Medium = Medium.Ethernet) {
  const frame = new Frame();
  const status = parseFrame(
    bytes,
    new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
    0,
    bytes.length,
    medium,
    frame,
  );
  return { frame, status, icrcOk: status === FrameStatus.Ok && icrcMatches(frame) };
}

export const rxeFrame = (opcode: number) =>
  Uint8Array.from(RXE_FRAMES.find((found) => found.opcode === opcode)?.hex.match(/../g) ?? [], (digits) =>
    Number.parseInt(digits, 16),
  );
