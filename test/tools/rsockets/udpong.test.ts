/**
 * Goal: udpong counts and echoes, and prints what the published one prints. Method: both roles on two devices of the
 * simulated world, with its clock and UDP by hand; then as two commands over the kernel's UDP, where there is one.
 */
import { Command } from 'commander';
import { expect, it } from 'vitest';
import { type Device, IpAddress, RoceError } from '../../../src/index.ts';
import { openUdpPort } from '../../../tools/rsockets/udp-port.ts';
import { runUdpong, UDPONG_HEADING, type UdpongOptions, udpongRow } from '../../../tools/rsockets/udpong.ts';
import { type UdpongFlags, udpongCommandOptions, udpongOptions } from '../../../tools/rsockets/udpong-command.ts';
import { PongOp, readPong, UDPONG_PORT, writePong } from '../../../tools/rsockets/udpong-protocol.ts';
import { UdpNetwork } from '../../ulp/rsockets/udp-network.ts';
import { addDevice, makeWorld, Transcript } from '../rping/support.ts';

function parsed(line: string): UdpongOptions {
  const command = udpongCommandOptions(new Command('udpong').exitOverride().configureOutput({ writeErr: () => {} }));
  command.parse(
    line.split(' ').filter((word) => word !== ''),
    { from: 'user' },
  );
  return udpongOptions(command.opts<UdpongFlags & Record<string, unknown>>());
}

async function pong(line: string, options: Parameters<typeof makeWorld>[0] = {}) {
  const world = makeWorld(options);
  const network = new UdpNetwork();
  const end = new AbortController();
  const server = new Transcript();
  const client = new Transcript();
  const context = (device: Device, output: Transcript, port: number) => ({
    device,
    output,
    udp: network.open(
      device.addresses.map(({ address }) => address),
      port,
    ),
    signal: end.signal,
    now: () => world.now / 1000,
    sleep: (ms: number) => world.sleep(ms * 1e6),
  });
  const serving = runUdpong(parsed(''), context(addDevice(world, 1), server, UDPONG_PORT)).catch(
    (error: unknown) => error,
  );
  const code = await world.run(runUdpong(parsed(`-s 10.0.0.1 ${line}`), context(addDevice(world, 2), client, 5000)));
  end.abort();
  const ended = await world.run(serving);
  expect(ended instanceof RoceError && ended.code).toBe('ERR_ROCE_CLOSED');
  return { code, server, client };
}

const firstColumns = (lines: readonly string[]): string[] =>
  lines.map((line) => line.split(/\s+/).slice(0, 4).join(' '));

it('counts what arrives', async () => {
  const { code, server, client } = await pong('-S 100 -C 50');
  expect([code, server.lines]).toEqual([0, ['client login from 10.0.0.2']]);
  expect(client.lines[0]).toBe('name      bytes   xfers   total       time     Gb/sec    usec/xfer');
  expect(client.lines[1]).toMatch(/^custom {4}100 {5}50 {6}4\.8k {8}0\.00s {5,6}\d+\.\d\d {6,8}\d+\.\d\d$/);
});

it('echoes', async () => {
  const { client } = await pong('-S 1000 -C 20 -T e');
  expect(firstColumns(client.lines)[1]).toBe('custom 1000 40 39k');
});

it('sends again what is lost, and counts what is not', async () => {
  const { client } = await pong('-S 64 -C 200 -T echo', { faults: { loss: 0.05 } });
  expect(firstColumns(client.lines)[1]).toBe('custom 64 400 25k');
  const lossy = await pong('-S 64 -C 300', { faults: { loss: 0.2 } });
  const counted = Number(firstColumns(lossy.client.lines)[1]?.split(' ')[2]);
  expect(counted).toBeGreaterThan(150);
  expect(counted).toBeLessThan(300);
});

it('climbs the ladder as far as packets go', async () => {
  const { client } = await pong('--limit 2');
  const names = firstColumns(client.lines).map((line) => line.split(' ')[0]);
  const sizes = ['64', '128', '192', '256', '384', '512', '768'];
  expect(names.slice(1)).toEqual([...sizes.map((size) => `${size}_lat`), ...sizes.map((size) => `${size}_bw`)]);
});

it('has the bytes and the rows of the published one', () => {
  const bytes = new Uint8Array(8).fill(0xa5);
  writePong(bytes, { op: PongOp.End, client: 3, sequence: 255, data: 1000 });
  expect(Buffer.from(bytes).toString('hex')).toBe('0403ff00000003e8');
  expect(readPong(bytes)).toEqual({ op: 4, client: 3, sequence: 255, data: 1000 });
  expect(readPong(bytes.subarray(0, 7))).toBeUndefined();
  const row = udpongRow({ name: '64_lat', size: 64, count: 500, echo: true }, 1000, 50_000);
  expect(row).toBe('64_lat    64      1k      62k         0.05s      0.01      50.00');
  expect(UDPONG_HEADING.length).toBe(row.length + 2);
});

it.each([
  ['-T s', 'a test option is one of'],
  ['-S 15', 'whole number'],
])('refuses %s', (line, words) => {
  expect(() => parsed(line)).toThrow(words);
});

it('says why where the kernel has not the address', async () => {
  await expect(openUdpPort(IpAddress.parse('192.0.2.1'), 0)).rejects.toThrow(
    'the kernel of this host does not have 192.0.2.1',
  );
});

it('hears and is heard over the UDP of the kernel', async () => {
  const loopback = IpAddress.parse('127.0.0.1');
  const [left, right] = [await openUdpPort(loopback, 0), await openUdpPort(loopback, 0)];
  const heard = new Promise<string>((resolve) =>
    right.listen((bytes, address, port) => resolve(`${[...bytes]} from ${address} ${port}`)),
  );
  left.send(Uint8Array.of(1, 2), loopback, right.port);
  expect(await heard).toBe(`1,2 from 127.0.0.1 ${left.port}`);
  await expect(openUdpPort(loopback, left.port)).rejects.toThrow('is in use');
  for (const port of [left, right, left]) port.close();
  left.send(Uint8Array.of(1), loopback, right.port);
});
