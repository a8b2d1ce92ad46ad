// Goal: a guest boots with rdma_rxe, runs commands side by side, and leaves nothing behind. Method: one real guest of
// 6.12.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { rpingFault } from '../../tools/interop/stock-rping.ts';
import { Guest } from '../../tools/lab/guest.ts';
import { buildImage } from '../../tools/lab/image.ts';
import { describeWith } from '../support/need.ts';

describeWith('lab', 'a guest with Linux 6.12', () => {
  let guest: Guest;
  let directory: string;
  let server: Server;
  let arpRequest: Promise<Buffer>;

  beforeAll(async () => {
    const image = await buildImage('6.12');
    directory = mkdtempSync(join(tmpdir(), 'roce-boot-'));
    const path = join(directory, 'wire');
    server = createServer();
    arpRequest = new Promise((resolve) => {
      server.on('connection', (socket) => onFrames(socket, (frame) => isArp(frame) && resolve(frame)));
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    const addresses = ['10.77.0.2/24', 'fd77::2/64'];
    guest = await Guest.boot({
      image,
      netSocket: { path },
      mac: '52:54:00:00:00:07',
      addresses,
      mtu: 4200,
      hostControl: true,
    });
  }, 300_000);

  afterAll(async () => {
    await guest?.stop();
    server?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  it('runs the kernel of its image', async () => {
    const { code, stdout } = await guest.run('uname -r');
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${guest.release}\n` });
    expect(guest.release).toMatch(/^6\.12\./);
  });

  it('returns the exit code and both outputs of a command', async () => {
    expect(await guest.run('echo out; echo err >&2; exit 7')).toEqual({ code: 7, stdout: 'out\n', stderr: 'err\n' });
  });

  it('has an active rxe device with a GID for each address and IB MTU 4096', async () => {
    const { stdout } = await guest.run('ibv_devinfo -v -d rxe0');
    expect(stdout).toMatch(/state:\s+PORT_ACTIVE/);
    expect(stdout).toMatch(/active_mtu:\s+4096/);
    expect(stdout).toMatch(/GID\[ +1\]:\s+::ffff:10\.77\.0\.2, RoCE v2/);
    expect(stdout).toMatch(/GID\[ +2\]:\s+fd77::2, RoCE v2/);
  });

  it('puts its frames on the wire, each after its length', async () => {
    await guest.run('ping -c 1 -W 1 10.77.0.9');
    const frame = await arpRequest;
    expect(frame.toString('hex', 0, 14)).toBe('ffffffffffff' + '525400000007' + '0806');
    expect(frame.toString('hex', 38, 42)).toBe('0a4d0009');
  });

  it('runs a server in the background and its client beside it, over rxe', async () => {
    const server = guest.spawn('rping -s -v -C 3 -S 3000');
    await guest.run('until rdma resource show cm_id | grep -q LISTEN; do sleep 0.05; done');
    const client = await guest.run('rping -c -a 10.77.0.2 -v -C 3 -S 3000');
    expect(rpingFault(client, 3)).toBe('');
    expect(rpingFault(await server.wait(30_000), 3)).toBe('');
  });

  it('shows what a background command has written so far, and ends it with all it started', async () => {
    const job = guest.spawn('echo hello; echo started > /tmp/mark; sleep 1000 & sleep 1000');
    await guest.run('until [ -s /tmp/mark ]; do sleep 0.05; done');
    expect((await job.output()).stdout).toBe('hello\n');
    await expect(job.wait(1)).rejects.toMatchObject({ code: 'ERR_ROCE_TIMEOUT' });
    await job.kill();
    expect(await job.wait(30_000)).toEqual({ code: 143, stdout: 'hello\n', stderr: '' });
    await guest.run('while ps | grep -q "[s]leep 1000"; do sleep 0.05; done', { timeoutMs: 30_000 });
  });

  it('carries binary output of several commands at once', async () => {
    const sizes = [0, 1, 16_384, 100_000, 200_001];
    const files = await Promise.all(
      sizes.map(async (size, index) => {
        const { stdout } = await guest.run(`head -c ${size} /dev/urandom > /tmp/${index}; sha256sum < /tmp/${index}`);
        return { sum: stdout, bytes: await guest.readFile(`/tmp/${index}`) };
      }),
    );
    for (const [index, file] of files.entries()) {
      expect(file.bytes.length).toBe(sizes[index]);
      expect(file.sum).toBe(`${createHash('sha256').update(file.bytes).digest('hex')}  -\n`);
    }
  });

  it('kills a command that runs beyond its limit and goes on working', async () => {
    // The limit may strike before, while and after the command has become a group of its own.
    for (const timeoutMs of [1, 2, 5, 10, 15, 20, 30, 50, 100]) {
      await expect(guest.run('sleep 1001', { timeoutMs })).rejects.toMatchObject({ code: 'ERR_ROCE_TIMEOUT' });
    }
    await guest.run('while ps | grep -q "[s]leep 1001"; do sleep 0.05; done', { timeoutMs: 30_000 });
  });

  it('loads further modules with all they need, when asked', async () => {
    const { code, stderr } = await guest.run(
      'modprobe -a nvme-rdma nvmet-rdma brd && [ -e /dev/nvme-fabrics ] && nvme version',
    );
    expect(code, stderr).toBe(0);
  });

  it('takes a program in, which speaks through a port of its own; one after the other', async () => {
    const echo = '#!/usr/bin/dash\nexec 3<> "$2"\nwhile read -r line <&3; do echo "$1 $line" >&3; done\n';
    const program = Buffer.concat([Buffer.from(`${echo}exit 3\n`), Buffer.alloc(100_000, '#')]);
    const first = await guest.attach(program, ["it's"]);
    first.socket.write('one\ntwo\n');
    expect(await linesOf(first.socket, 2)).toBe("it's one\nit's two\n");
    first.socket.destroy();
    const second = await guest.attach(program, ['again']);
    expect((await first.job.wait(30_000)).code).toBeGreaterThan(0);
    second.socket.write('three\n');
    expect(await linesOf(second.socket, 1)).toBe('again three\n');
    await second.job.kill('KILL');
    await new Promise((resolve) => second.socket.once('close', resolve));
  });

  it('says so when a file of the guest cannot be read', async () => {
    await expect(guest.readFile('/no such file')).rejects.toMatchObject({ code: 'ERR_ROCE_ARGUMENT' });
  });

  it('tells a waiting command that the kernel panicked', async () => {
    await expect(guest.run('echo c > /proc/sysrq-trigger')).rejects.toThrow(/Kernel panic/);
    await expect(guest.run('true')).rejects.toMatchObject({ code: 'ERR_ROCE_CLOSED' });
    await guest.stop();
  });
});

function isArp(frame: Buffer): boolean {
  return frame.readUInt16BE(12) === 0x0806;
}

/** What comes until there are that many lines. */
function linesOf(socket: Socket, count: number): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (chunk) => {
      text += String(chunk);
      if (text.split('\n').length > count) resolve(text);
    });
  });
}

/** qemu's stream framing: a 4-byte big-endian length before each frame. */
function onFrames(socket: Socket, take: (frame: Buffer) => void): void {
  let bytes = Buffer.alloc(0);
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE(0)) {
      const end = 4 + bytes.readUInt32BE(0);
      take(bytes.subarray(4, end));
      bytes = bytes.subarray(end);
    }
  });
}
