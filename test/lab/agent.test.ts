// Goal: answers of a guest reach who asked, in any order and in any pieces. Method: a scripted guest at the other end
// of a socket.
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AgentChannel, LineSplitter } from '../../tools/lab/agent.ts';
import { CHUNK_BYTES } from '../../tools/lab/init.ts';

describe('LineSplitter', () => {
  it('gives the same lines however the text is cut', () => {
    const line = fc.stringMatching(/^[a-z =]{0,12}$/);
    fc.assert(
      fc.property(fc.array(line), line, fc.array(fc.nat(200)), (lines, rest, cuts) => {
        const text = lines.map((one) => `${one}\n`).join('') + rest;
        const edges = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
        const splitter = new LineSplitter();
        const seen = edges.slice(0, -1).flatMap((start, index) => splitter.push(text.slice(start, edges[index + 1])));
        expect(seen).toEqual(lines);
      }),
    );
  });
});

describe('AgentChannel', () => {
  let directory: string;
  let server: Server;
  let guest: Socket;
  let channel: AgentChannel;
  let end: (reason: string) => void;
  let requests: string[];
  let onRequest: (line: string) => void;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'roce-agent-'));
    server = createServer();
    const path = join(directory, 'control');
    await new Promise<void>((resolve) => server.listen(path, resolve));
    const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
    guest = connect(path);
    const ended = new Promise<string>((resolve) => {
      end = resolve;
    });
    channel = new AgentChannel(await accepted, ended);
    requests = [];
    onRequest = () => undefined;
    const splitter = new LineSplitter();
    guest.on('data', (bytes) => {
      for (const line of splitter.push(bytes.toString('latin1'))) {
        requests.push(line);
        onRequest(line);
      }
    });
  });

  afterEach(() => {
    channel.close('the test has ended');
    guest.destroy();
    server.close();
    rmSync(directory, { recursive: true, force: true });
  });

  it('learns the kernel release from the first word', async () => {
    guest.write('ready 6.12.1\n');
    expect(await channel.ready).toBe('6.12.1');
  });

  it('passes on why a guest could not be set up', async () => {
    guest.write(`failed ${Buffer.from('rdma link add: no such device').toString('base64')}\n`);
    await expect(channel.ready).rejects.toThrow(/rdma link add: no such device/);
  });

  it('matches answers that come in another order', async () => {
    onRequest = (line) => {
      const [verb, id] = line.split(' ');
      if (verb !== 'run' || requests.length < 2) return;
      guest.write(`exit ${id} 7 1 2\n`);
      guest.write(`exit ${requests[0]?.split(' ')[1]} 143 0 0\n`);
    };
    const first = channel.start('one');
    const second = channel.start('two\n"quoted" $HOME');
    expect(await first.exit).toEqual({ code: 143, stdoutBytes: 0, stderrBytes: 0 });
    expect(await second.exit).toEqual({ code: 7, stdoutBytes: 1, stderrBytes: 2 });
    expect(Buffer.from(requests[1]?.split(' ')[2] ?? '', 'base64').toString()).toBe('two\n"quoted" $HOME');
  });

  it('puts output together from chunks, from any byte on', async () => {
    const output = Buffer.alloc(CHUNK_BYTES * 2 + 100, 0).map((_, index) => index % 251);
    onRequest = (line) => {
      const [verb, id, , , index] = line.split(' ');
      const start = Number(index) * CHUNK_BYTES;
      if (verb === 'read')
        guest.write(`data ${id} ${Buffer.from(output.subarray(start, start + CHUNK_BYTES)).toString('base64')}\n`);
    };
    expect((await channel.read('1', 'out')).equals(output)).toBe(true);
    expect((await channel.read('1', 'err', CHUNK_BYTES + 5)).equals(output.subarray(CHUNK_BYTES + 5))).toBe(true);
    expect((await channel.read('1', 'out', CHUNK_BYTES * 3)).length).toBe(0);
  });

  it('fails what waits, and what comes later, with the reason why the guest is gone', async () => {
    const { exit } = channel.start('sleep 1000');
    end('Kernel panic');
    await expect(exit).rejects.toMatchObject({ code: 'ERR_ROCE_CLOSED', message: 'Kernel panic' });
    await expect(channel.drop('1')).rejects.toThrow('Kernel panic');
  });

  it('passes over answers that nobody waits for', async () => {
    guest.write('exit 999 0 0 0\n\nnonsense\nready r\n');
    expect(await channel.ready).toBe('r');
  });
});
