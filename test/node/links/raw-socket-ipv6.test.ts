/**
 * Goal: whatever the kernel reports of IPv6 packets, they get their headers back where it tells, and nothing outside
 * the memory is touched. Method: the structures of recvmmsg written by a kernel of a few lines over pretended
 * addresses.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../packets/address.ts';
import { Ipv6Messages, MAX_MESSAGES } from '../../../src/node/links/raw-socket-ipv6.ts';
import { Mmsghdr } from '../../../src/node/links/socket-messages.ts';

const MTU = 1500;
const SOURCE = IpAddress.parse('fd99::1');
const DESTINATION = IpAddress.parse('fd99::23');

/** The messages, and what the kernel would see at the addresses in them. */
function setUp(): { messages: Ipv6Messages; structures: DataView } {
  const buffers: ArrayBuffer[] = [];
  const messages = new Ipv6Messages(MTU, (of) => {
    const buffer = of instanceof ArrayBuffer ? of : of.buffer;
    if (!(buffer instanceof ArrayBuffer)) throw new Error('memory of its own');
    buffers.push(buffer);
    return buffers.length * BETWEEN;
  });
  const [structures] = buffers;
  if (structures === undefined) throw new Error('the structures come first');
  return { messages, structures: new DataView(structures) };
}

/** What is at an address of the structures. */
const at = (structures: DataView, pointer: number): number => Number(structures.getBigUint64(pointer, true)) - BETWEEN;

function writeControl(view: DataView, start: number, type: number, bytes: Uint8Array): number {
  view.setBigUint64(start, BigInt(16 + bytes.length), true);
  view.setInt32(start + 8, IPPROTO_IPV6, true);
  view.setInt32(start + 12, type, true);
  for (const [i, byte] of bytes.entries()) view.setUint8(start + 16 + i, byte);
  return start + ((16 + bytes.length + 7) & ~7);
}

/** A datagram to `port`, as recvmmsg brings it. */
function arrive(
  { messages, structures }: ReturnType<typeof setUp>,
  index: number,
  { port = 4791, length = 60, firstWord = 0 } = {},
): void {
  const header = index * Mmsghdr.Bytes;
  const payload = at(structures, at(structures, header + Mmsghdr.Iov)) - BETWEEN;
  messages.view.setUint16(payload + 2, port);
  structures.setUint32(header + Mmsghdr.Length, length, true);
  SOURCE.writeGid(structures, at(structures, header + Mmsghdr.Name) + 8);
  const control = at(structures, header + Mmsghdr.Control);
  const address = new DataView(new ArrayBuffer(20));
  DESTINATION.writeGid(address, 0);
  let end = writeControl(structures, control, 50, new Uint8Array(address.buffer));
  end = writeControl(structures, end, 52, Uint8Array.of(17, 0, 0, 0));
  const word = new DataView(new ArrayBuffer(4));
  word.setUint32(0, firstWord);
  if (firstWord !== 0) end = writeControl(structures, end, 11, new Uint8Array(word.buffer));
  structures.setBigUint64(header + Mmsghdr.ControlLength, BigInt(end - control), true);
}

describe('IPv6 packets from a raw socket', () => {
  it('have the header that the kernel tells: traffic class, flow label, hop limit and both addresses', () => {
    const kernel = setUp();
    kernel.messages.prepare();
    arrive(kernel, 0, { firstWord: 0x06_b1_23_45 });
    arrive(kernel, 1, { firstWord: 0 });
    kernel.messages.take(2);
    const { view, starts, lengths, count } = kernel.messages;
    expect([count, ...lengths.subarray(0, 2)]).toEqual([2, 100, 100]);
    for (const [index, firstWord] of [0x66_b1_23_45, 0x60_00_00_00].entries()) {
      const start = starts[index] ?? -1;
      expect([view.getUint32(start), view.getUint32(start + 4)]).toEqual([firstWord, (60 << 16) | (17 << 8) | 17]);
      expect([IpAddress.read(view, start + 8, 6), IpAddress.read(view, start + 24, 6)]).toEqual([SOURCE, DESTINATION]);
    }
  });

  it('are left out when they are to another port, too short for one, or longer than the MTU, which is counted', () => {
    const kernel = setUp();
    kernel.messages.prepare();
    arrive(kernel, 0, { port: 53 });
    arrive(kernel, 1, { length: 7 });
    arrive(kernel, 2, { length: MTU - 40 + 1 });
    arrive(kernel, 3, { length: MTU - 40 });
    kernel.messages.take(4);
    const { count, oversize, lengths } = kernel.messages;
    expect([count, oversize, lengths[0]]).toEqual([1, 1, MTU]);
  });

  it('stay inside the memory whatever the kernel reports', () => {
    const messages = fc.record({
      length: fc.oneof(fc.nat(2000), fc.nat(0xff_ff_ff_ff)),
      control: fc.uint8Array({ minLength: 96, maxLength: 96 }),
      controlLength: fc.oneof(fc.nat(100), fc.constant(0xff_ff_ff_ff)),
    });
    fc.assert(
      fc.property(fc.array(messages, { minLength: 1, maxLength: MAX_MESSAGES }), (all) => {
        const kernel = setUp();
        kernel.messages.prepare();
        for (const [index, { length, control, controlLength }] of all.entries()) {
          arrive(kernel, index, { length });
          const header = index * Mmsghdr.Bytes;
          const to = at(kernel.structures, header + Mmsghdr.Control);
          for (const [i, byte] of control.entries()) kernel.structures.setUint8(to + i, byte);
          kernel.structures.setUint32(header + Mmsghdr.ControlLength, controlLength, true);
        }
        kernel.messages.take(all.length);
        const { count, starts, lengths, bytes } = kernel.messages;
        for (let i = 0; i < count; i++) {
          expect(lengths[i]).toBeLessThanOrEqual(MTU);
          expect((starts[i] ?? -1) >= 0 && (starts[i] ?? 0) + (lengths[i] ?? 0) <= bytes.length).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });
});

const IPPROTO_IPV6 = 41;
/** Beyond 32 bits, as addresses are. */
const BETWEEN = 0x10_00_00_00_00;
