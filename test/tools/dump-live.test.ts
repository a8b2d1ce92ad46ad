/**
 * Goal: `roce dump --link` answers on its wire and prints what passes. Method: a second device in this process asks it
 * for its address.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { readCapture } from '../../pcap/index.ts';
import { IpAddress, openDevice } from '../../src/index.ts';

const COMMAND = fileURLToPath(new URL('dump-command.ts', import.meta.url));
const directories: string[] = [];

afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

it('prints a question and the answer it gives, and writes both to a file', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'roce-dump-'));
  directories.push(directory);
  const socket = join(directory, 'wire.sock');
  const file = join(directory, 'seen.pcapng');
  const args = [
    '--import',
    'tsx',
    COMMAND,
    '--link',
    `qemu:${socket}`,
    '--ip',
    '10.0.0.1/24',
    '--json',
    '-c',
    '2',
    '-w',
    file,
    '--',
    'arp and not udp',
  ];
  const dump = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  dump.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const ended = new Promise<number | null>((resolve) => dump.on('close', resolve));
  const [ready] = await once(dump.stderr, 'data');
  expect(String(ready)).toBe(`roce dump: listening on qemu:${socket}\n`);
  const { device, close } = await openDevice({ link: `qemu:${socket},connect`, addresses: ['10.0.0.2/24'] });
  await device.resolve(IpAddress.parse('10.0.0.1'));
  expect(await ended).toBe(0);
  await close();
  const lines = output.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line)['arp.opcode'])).toEqual([1, 2]);
  expect([...readCapture(readFileSync(file))].map((packet) => packet.direction)).toEqual([1, 2]);
});
