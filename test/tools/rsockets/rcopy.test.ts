/**
 * Goal: rcopy copies files as that of rdmacm-utils does, and a server's files stay where they belong; streams work over
 * a real wire and from a worker thread. Method: two devices in this process, or two commands, joined by a Unix socket.
 */
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IpAddress, openDevice, type RdmaDevice } from '../../../src/index.ts';
import { RSocket } from '../../../src/ulp/rsockets/index.ts';
import { runRcopyClient } from '../../../tools/rsockets/rcopy-client.ts';
import {
  RCOPY_PORT,
  RcopyCommand,
  readHeader,
  writeMessage,
  writePath,
  writeSize,
} from '../../../tools/rsockets/rcopy-protocol.ts';
import { runRcopyServer } from '../../../tools/rsockets/rcopy-server.ts';
import { receiveExactly } from '../../../tools/rsockets/whole.ts';
import { startRoce } from '../roce/run-roce.ts';
import { Transcript } from '../rping/support.ts';

let directory = '';
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'roce-rcopy-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const SERVER = IpAddress.parse('10.0.0.1');

describe('messages of rcopy', () => {
  it('are in the order of a little-endian host', () => {
    const path = writePath('/tmp/abc');
    expect(path).toEqual(new Uint8Array([...Buffer.from('/tmp/abc'), 0, 0, 0, 0, 0, 0, 0, 0]));
    const message = writeMessage(RcopyCommand.Open, 0o100_644, path);
    expect(Buffer.from(message.subarray(0, 16)).toString('hex')).toBe('00012000a4810000' + '0000000000000000');
    expect(readHeader(message)).toEqual({ version: 0, command: 1, length: 32, data: 0o100_644, id: 0n });
    expect(Buffer.from(writeSize(300_001)).toString('hex')).toBe('e193040000000000');
  });

  it('of another version, or shorter than themselves, are none', () => {
    expect(readHeader(Uint8Array.of(1, 1, 16, 0, ...new Uint8Array(12)))).toBeUndefined();
    expect(readHeader(Uint8Array.of(0, 1, 15, 0, ...new Uint8Array(12)))).toBeUndefined();
  });
});

/** A server that keeps files in `into`, for as long as `use` takes. */
async function withServer(
  name: string,
  use: (device: RdmaDevice, into: string, server: Transcript) => Promise<void>,
  folder?: string,
): Promise<void> {
  const path = join(directory, name);
  const into = folder ?? (await mkdtemp(join(directory, `${name}-into-`)));
  const server = await openDevice({ link: `qemu:${path}`, addresses: ['10.0.0.1/24'] });
  const client = await openDevice({ link: `qemu:${path},connect`, addresses: ['10.0.0.2/24'] });
  const end = new AbortController();
  const transcript = new Transcript();
  const serving = runRcopyServer(server.device, { port: RCOPY_PORT, into, signal: end.signal }, transcript);
  try {
    await use(client.device, into, transcript);
    end.abort();
    expect(await serving).toBe(0);
  } finally {
    end.abort();
    await client.close();
    await server.close();
  }
}

async function fileOf(bytes: number): Promise<string> {
  const source = join(directory, `source-${bytes}`);
  await writeFile(
    source,
    Uint8Array.from({ length: bytes }, (_, i) => i * 31),
  );
  return source;
}

describe('rcopy', () => {
  it.each([0, 1, 700_000])('copies a file of %i bytes', async (bytes) => {
    await withServer(`copy-${bytes}`, async (device, into, server) => {
      const source = await fileOf(bytes);
      const client = new Transcript();
      const options = { port: RCOPY_PORT, server: SERVER, source, destination: '/elsewhere/copy.bin' };
      expect(await runRcopyClient(device, options, client)).toBe(0);
      expect(Buffer.compare(await readFile(join(into, 'copy.bin')), await readFile(source))).toBe(0);
      expect(server.lines.slice(0, 3)).toEqual([
        'waiting for connection...',
        'client: 10.0.0.2',
        `opening: copy.bin, transferring...${bytes} bytes...closing...done`,
      ]);
      expect(client.lines[0]).toBe('opening...transferring...closing...done');
      expect(client.lines[1]).toMatch(new RegExp(`^${bytes} bytes in \\d+\\.\\d\\d seconds = \\d+\\.\\d\\d Gb/sec$`));
    });
  });

  it('puts nothing outside its folder, by name or by link', async () => {
    await withServer('outside', async (device, into) => {
      const source = await fileOf(10);
      await symlink(join(directory, 'victim'), join(into, 'link'));
      const copy = (destination: string) =>
        runRcopyClient(device, { port: RCOPY_PORT, server: SERVER, source, destination }, new Transcript());
      expect(await copy('../../up')).toBe(0);
      expect(await copy('..')).toBe(22);
      expect(await copy('link')).toBe(13);
      expect((await readdir(into)).sort()).toEqual(['link', 'up']);
      expect(await readdir(directory)).not.toContain('victim');
    });
  });

  it('tells a client for whose file there is no room, and serves the next one', async () => {
    const use = async (device: RdmaDevice, _into: string, server: Transcript): Promise<void> => {
      const copy = { port: RCOPY_PORT, server: SERVER, source: await fileOf(5) };
      expect(await runRcopyClient(device, { ...copy, destination: 'full' }, new Transcript())).toBe(28);
      expect(await runRcopyClient(device, { ...copy, destination: 'null' }, new Transcript())).toBe(0);
      expect(server.lines).toContain('opening: full, transferring...5 bytes...error writing file');
    };
    // The kernel's file that is always full, and the one that never is.
    await withServer('full', use, '/dev');
  });

  it('shows no control characters of a name, which a terminal would obey', async () => {
    await withServer('controls', async (device, into, server) => {
      const copy = { port: RCOPY_PORT, server: SERVER, source: await fileOf(5), destination: 'a\u001b[2Jb\nc\u009b1m' };
      expect(await runRcopyClient(device, copy, new Transcript())).toBe(22);
      expect(await readdir(into)).toEqual([]);
      expect(server.lines.join('')).not.toMatch(/\p{Cc}/u);
    });
  });

  it('answers what makes no sense with a status, and serves the next client', async () => {
    await withServer('nonsense', async (device, into, server) => {
      const nonsense: [Uint8Array, number | undefined][] = [
        [writeMessage(RcopyCommand.Write, 0, writeSize(5)), 22],
        [writeMessage(77), 22],
        [new Uint8Array(16), undefined],
      ];
      for (const [message, status] of nonsense) {
        const socket = await RSocket.connect(device, { address: SERVER, port: RCOPY_PORT });
        await socket.send(message);
        const answer = await receiveExactly(socket, 16);
        expect(answer && readHeader(answer)?.data).toBe(status);
        await socket.close();
      }
      const copy = { port: RCOPY_PORT, server: SERVER, source: await fileOf(5), destination: 'last' };
      expect(await runRcopyClient(device, copy, new Transcript())).toBe(0);
      expect(await readdir(into)).toEqual(['last']);
      expect(server.lines).toContain('transferring...file not opened');
    });
  });
});

describe('as commands', () => {
  it('roce rstream streams between two processes, one of them with the stack in a worker', async () => {
    const path = join(directory, 'rstream');
    const test = ['-S', '100000', '-C', '3', '-I', '2', '-T', 'v'];
    const server = startRoce(['rstream', ...test, '--link', `qemu:${path}`, '--ip', '10.0.0.1/24', '--worker']);
    await server.shows('usec/xfer');
    const client = startRoce([
      ...['rstream', '-s', '10.0.0.1', ...test],
      ...['--link', `qemu:${path},connect`, '--ip', '10.0.0.2/24'],
    ]);
    for (const { code, stdout, stderr } of [await client.ended, await server.ended]) {
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/^custom {4}97k {5}3 {7}2 {7}1\.1m /m);
    }
  });

  it('roce rcopy copies, and ctrl-C ends its server', async () => {
    const path = join(directory, 'rcopy');
    const into = await mkdtemp(join(directory, 'into-'));
    const server = startRoce(['rcopy', '--into', into, '--link', `qemu:${path}`, '--ip', '10.0.0.1/24']);
    const source = await fileOf(1000);
    const copy = ['rcopy', source, '10.0.0.1:b', '--link', `qemu:${path},connect`, '--ip', '10.0.0.2/24'];
    await server.shows('waiting for connection');
    const copied = await startRoce(copy).ended;
    expect(copied.stdout).toMatch(/^opening\.\.\.transferring\.\.\.closing\.\.\.done\n1000 bytes in /);
    server.interrupt();
    expect((await server.ended).code).toBe(130);
    expect(await readFile(join(into, 'b'))).toEqual(await readFile(source));
  });

  it('roce rcopy without a server to copy to is a bad command line', async () => {
    const { code, stderr } = await startRoce(['rcopy', 'a', '--link', 'qemu:x', '--ip', '10.0.0.1/24']).ended;
    expect({ code, stderr }).toEqual({ code: 2, stderr: 'roce rcopy: the client needs the server to copy to\n' });
  });
});
