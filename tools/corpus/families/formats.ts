/** The same two packets in each form of capture file that a reader meets. Owns the bytes of classic pcap, all four. */
import { Op } from 'rocev2/packets';
import { pattern } from 'rocev2/packets/kit';
import { type CorpusCapture, frame, route } from '../capture.ts';
import { hex, join } from '../wrap.ts';

/** Classic pcap of both byte orders and both resolutions; pcapng of the other byte order, with older blocks. */
export function formatCaptures(): readonly CorpusCapture[] {
  const orders = [true, false].flatMap((little) => [true, false].map((nano) => ({ little, nano })));
  return [...orders.map(classic), pcapngBigEndian()];
}

const FRAMES = [
  frame({ opcode: Op.SendOnly, psn: 1, payload: pattern(10) }, route(4)),
  frame({ opcode: Op.Acknowledge, psn: 1, syndrome: 0x1f, msn: 1 }, route(6)),
];

function classic({ little, nano }: { little: boolean; nano: boolean }): CorpusCapture {
  const words = (...values: readonly number[]): Uint8Array =>
    bytesOf(
      values.map((value) => [value, 4]),
      little,
    );
  const head = join(
    words(nano ? 0xa1b2_3c4d : 0xa1b2_c3d4),
    bytesOf(
      [
        [2, 2],
        [4, 2],
      ],
      little,
    ),
    words(0, 0, 0xff_ff, 1),
  );
  const records = FRAMES.flatMap((bytes, i) => [words(1_767_225_600, i * 1000, bytes.length, bytes.length), bytes]);
  const [unit, order] = [nano ? 'ns' : 'us', little ? 'le' : 'be'];
  return {
    file: `formats/${unit}-${order}.pcap`,
    about: `Classic pcap, ${little ? 'little' : 'big'}-endian, ${nano ? 'nanoseconds' : 'microseconds'}.`,
    traffic: false,
    bytes: join(head, ...records),
  };
}

/** An interface with times of microseconds, an unknown block, an enhanced and a simple packet block. */
function pcapngBigEndian(): CorpusCapture {
  const block = (type: number, body: Uint8Array): Uint8Array => {
    const padded = join(body, new Uint8Array(-body.length & 3));
    const length = bytesOf([[padded.length + 12, 4]], false);
    return join(bytesOf([[type, 4]], false), length, padded, length);
  };
  const [first = NONE, second = NONE] = FRAMES;
  const size = bytesOf(
    [
      [first.length, 4],
      [first.length, 4],
    ],
    false,
  );
  return {
    file: 'formats/be.pcapng',
    about: 'pcapng, big-endian: a section, an interface, a block of an unknown type, both kinds of packet blocks.',
    traffic: false,
    bytes: join(
      block(0x0a0d_0d0a, hex('1a2b3c4d 0001 0000 ffffffffffffffff')),
      block(1, hex('0001 0000 00000000')),
      block(0x0bad_0bad, hex('00112233')),
      block(6, join(hex('00000000 00064761 87238000'), size, first)),
      block(3, join(bytesOf([[second.length, 4]], false), second)),
    ),
  };
}

function bytesOf(values: readonly (readonly number[])[], little: boolean): Uint8Array {
  return join(
    ...values.map(([value = 0, bytes = 0]) => {
      const big = Uint8Array.from({ length: bytes }, (_, i) => Math.floor(value / 256 ** (bytes - 1 - i)) & 0xff);
      return little ? big.reverse() : big;
    }),
  );
}

const NONE = new Uint8Array(0);
