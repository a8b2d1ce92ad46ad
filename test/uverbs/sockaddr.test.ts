/** Goal: addresses lie in a struct sockaddr as C has them, and which stand for any or for this machine. */
import { expect, it } from 'vitest';
import { IpAddress } from '../../packets/address.ts';
import { isAny, isLoopback, readSockaddr, writeSockaddr } from '../../src/uverbs/rdma-cm/sockaddr.ts';
import { fromHex, toHex } from '../packets/support.ts';

it.each([
  // sin_family, in the order of the machine | sin_port, of the network | sin_addr
  ['10.0.0.2', 7174, '0200 1c06 0a000002', 16],
  // sin6_family | sin6_port | sin6_flowinfo | sin6_addr
  ['fe80::1:2', 443, '0a00 01bb 00000000 fe80000000000000 0000000000010002', 28],
])('%s, port %i', (text, port, hex, bytes) => {
  const room = new Uint8Array(40);
  expect(writeSockaddr(new DataView(room.buffer), 4, { address: IpAddress.parse(text), port })).toBe(bytes);
  const expected = hex.replaceAll(' ', '');
  expect(toHex(room.subarray(4))).toBe(expected.padEnd(72, '0'));
  const memory = fromHex(`ffff ${hex}`);
  const read = readSockaddr(new DataView(memory.buffer, memory.byteOffset), 2);
  expect([`${read?.address}`, read?.port]).toEqual([text, port]);
});

it('of another family is none', () => {
  for (const family of [0, 1, 27])
    expect(readSockaddr(new DataView(Uint8Array.of(family, 0, ...new Uint8Array(28)).buffer), 0)).toBeUndefined();
});

it.each([
  ['0.0.0.0', true, false],
  ['::', true, false],
  ['127.0.0.1', false, true],
  ['127.9.9.9', false, true],
  ['::1', false, true],
  ['10.0.0.1', false, false],
  ['128.0.0.0', false, false],
  ['fe80::1', false, false],
  ['fe80::', false, false],
  ['::5:0:0', false, false],
  ['::1:0:0:0:0', false, false],
  ['::5:0:1', false, false],
  ['::5:0:0:0:1', false, false],
])('%s stands for any address: %s; for this machine: %s', (text, any, loopback) => {
  const address = IpAddress.parse(text);
  expect([isAny(address), isLoopback(address)]).toEqual([any, loopback]);
});
