/** RoCE packets for benches: RC WRITE ONLY with a full payload, on Ethernet and IPv4. */
import {
  FrameWriter,
  HeaderTemplate,
  IpAddress,
  Medium,
  Op,
  parseMac,
  RETH_BYTES,
  writeBth,
  writeReth,
} from 'rocev2/packets';

export const HEADER_BYTES = 14 + 20 + 8 + 12 + RETH_BYTES;

export const TEMPLATE = new HeaderTemplate({
  medium: Medium.Ethernet,
  sourceMac: parseMac('02:00:00:00:00:01'),
  destMac: parseMac('02:00:00:00:00:02'),
  source: IpAddress.parse('10.0.0.1'),
  destination: IpAddress.parse('10.0.0.2'),
  trafficClass: 0,
  hopLimit: 64,
  flowLabel: 0,
  sourcePort: 0xc0_00,
});

/** Appends a WRITE ONLY with `length` bytes of `payload` to the writer, ICRC included. `length` is a multiple of 4. */
export function writeWriteOnly(writer: FrameWriter, psn: number, payload: Uint8Array, length: number): void {
  const { view, bytes } = writer;
  const bth = writer.begin(TEMPLATE);
  writeBth(view, bth, Op.WriteOnly, 0, 1, 0, 0xff_ff, 0x12, 1, psn & 0xff_ff_ff);
  writeReth(view, bth + 12, 0x7f00, 0x1000_0000, 0x1234, length);
  bytes.set(payload, bth + 12 + RETH_BYTES);
  writer.end(TEMPLATE, bth + 12 + RETH_BYTES + length);
}

/** `count` such packets in one writer. */
export function manyPackets(count: number, payloadBytes: number): FrameWriter {
  const writer = new FrameWriter(count, HEADER_BYTES + payloadBytes + 4);
  const payload = new Uint8Array(payloadBytes).map((_, index) => index * 31);
  for (let psn = 0; psn < count; psn++) writeWriteOnly(writer, psn, payload, payloadBytes);
  return writer;
}
