/** Management datagrams as the corpus writes them down: the common header, messages of connection management. */
import { type Frame, IpAddress, isMad } from 'rocev2/packets';
import {
  cmKind,
  isRdmaServiceId,
  MAD_HEADER_BYTES,
  parseCmMad,
  readIpCmHeader,
  readMadHeader,
} from 'rocev2/packets/management';
import { hex64, hexArea, type Value } from './hex.ts';

/** The keys `mad`, `cm` and `ipCm` as far as they apply to a frame that is Ok and whole. */
export function madFields(frame: Frame): Record<string, Value> {
  const { view, payloadOffset, payloadLength } = frame;
  if (!isMad(frame) || payloadLength < MAD_HEADER_BYTES) return {};
  const { transactionId, ...header } = readMadHeader(view, payloadOffset);
  const mad = { ...header, transactionId: hex64(transactionId) };
  const parsed = parseCmMad(view, payloadOffset, payloadLength);
  if (typeof parsed !== 'object') return { mad };
  const { message } = parsed;
  const cm = { message: cmKind(header.attributeId) ?? '', ...plain({ ...message.body }) };
  const asks = message.kind === 'REQ' || message.kind === 'SIDR_REQ';
  if (!asks || !isRdmaServiceId(message.body.serviceId)) return { mad, cm };
  const area = message.body.privateData;
  const ip = readIpCmHeader(new DataView(area.buffer, area.byteOffset, area.length), 0);
  if (ip === undefined) return { mad, cm };
  const { sourcePort, source, destination } = ip;
  return { mad, cm, ipCm: { sourcePort, source: source.toString(), destination: destination.toString() } };
}

function plain(body: Readonly<Record<string, unknown>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, plainValue(value)]));
}

function plainValue(value: unknown): Value {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return hex64(value);
  if (value instanceof Uint8Array) return hexArea(value);
  if (value instanceof IpAddress) return value.toString();
  if (typeof value === 'object' && value !== null) return plain({ ...value });
  throw new TypeError(`a message of connection management has no ${typeof value}`);
}
