// Goal: the agent's listeners and connections do what they are documented to, its lines are answered whatever they say,
// and it ends and begins again cleanly. Method: one guest of Linux 6.12 that connects to itself; raw lines; agents over
// TCP and stdio inside the guest.
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startAgent } from '../../../../tools/conformance/agent/in-guest.ts';
import { AgentClient } from '../../../../tools/conformance/host-control/client.ts';
import { TAKES } from '../../../../tools/conformance/host-control/protocol.ts';
import { Guest } from '../../../../tools/lab/guest.ts';
import { buildImage } from '../../../../tools/lab/image.ts';
import { describeWith } from '../../../support/need.ts';
import {
  ADDRESS,
  bytesAt,
  cmEvents,
  completions,
  connectPair,
  furnish,
  makeQp,
  PORT,
  takeHostControl,
} from './support.ts';

describeWith(['lab', 'compiler'], 'the agent in a guest with Linux 6.12 and those who speak to it', () => {
  let guest: Guest;

  beforeAll(async () => {
    guest = await Guest.boot({ image: await buildImage('6.12'), addresses: [`${ADDRESS}/24`], hostControl: true });
  }, 300_000);

  afterAll(() => guest?.stop());

  describe('connections', () => {
    let hostControl: AgentClient;

    beforeAll(async () => {
      hostControl = await takeHostControl(guest);
    });

    afterAll(() => hostControl?.close());

    beforeEach(async () => {
      await hostControl.call('reset', {});
    });

    it('accepts who comes, says where its region is, and ends a connection when told', async () => {
      await hostControl.call('cm.listen', { listener: 1, port: PORT, receives: 4, receiveBytes: 64, regionBytes: 512 });
      await hostControl.call('cm.connect', { connection: 7, address: ADDRESS, port: PORT, privateData: 'c0ffee' });
      const events = await cmEvents(hostControl, ['established', 'established']);
      expect(events.filter(({ connection }) => connection === 7).map(({ event }) => event)).toEqual([
        'addr-resolved',
        'route-resolved',
        'established',
      ]);
      const request = events.find(({ event }) => event === 'connect-request');
      expect(request).toMatchObject({ listener: 1, status: 0 });
      expect(request?.privateData?.startsWith('c0ffee00')).toBe(true);
      const [accepted] = events.filter(({ event, listener }) => event === 'established' && listener === 1);
      expect(accepted?.qpn).toBe(request?.qpn);
      const told = events.find(({ event, connection }) => event === 'established' && connection === 7)?.privateData;
      expect(told).toMatch(/^0000[0-9a-f]{12}0000[0-9a-f]{4}00000200(00)*$/);
      await hostControl.call('cm.disconnect', { listener: 1 });
      const ends = await cmEvents(hostControl, ['disconnected', 'disconnected']);
      expect(ends.map(({ listener, connection }) => listener ?? connection).sort()).toEqual([1, 7]);
      await hostControl.call('cm.close', { listener: 1 });
    });

    it('refuses everybody where it is told to, with the words it is told', async () => {
      await hostControl.call('cm.listen', { listener: 1, port: PORT, reject: '4e6f' });
      await hostControl.call('cm.connect', { connection: 1, address: ADDRESS, port: PORT });
      const events = await cmEvents(hostControl, ['rejected']);
      const rejected = events.find(({ event }) => event === 'rejected');
      expect(rejected).toMatchObject({ connection: 1, status: CONSUMER_DEFINED });
      expect(rejected?.privateData?.startsWith('4e6f')).toBe(true);
      // The connection is no more, so its name is free.
      await hostControl.call('cm.connect', { connection: 1, address: ADDRESS, port: PORT });
      await cmEvents(hostControl, ['rejected']);
    });

    it('tells that nobody listens', async () => {
      await hostControl.call('cm.connect', { connection: 1, address: ADDRESS, port: PORT });
      const events = await cmEvents(hostControl, ['rejected']);
      expect(events.at(-1)).toMatchObject({ event: 'rejected', connection: 1, status: INVALID_SERVICE_ID });
    });

    it('answers nothing while mute', async () => {
      await hostControl.call('cm.listen', { listener: 1, port: PORT, mute: true });
      await hostControl.call('cm.connect', { connection: 1, address: ADDRESS, port: PORT });
      const events = await cmEvents(hostControl, ['connect-request']);
      expect(events.filter(({ event }) => event === 'established' || event === 'rejected')).toEqual([]);
      await hostControl.call('cm.close', { listener: 1 });
      expect((await cmEvents(hostControl, ['rejected'])).at(-1)).toMatchObject({ event: 'rejected', connection: 1 });
    });

    it('answers who asks for a datagram service', async () => {
      await hostControl.call('cm.listen', { listener: 3, port: 7174, udp: true });
      const job = guest.spawn(`udaddy -s ${ADDRESS} -c 1 -C 1`);
      const [request] = await cmEvents(hostControl, ['connect-request']);
      expect(request).toMatchObject({ event: 'connect-request', listener: 3, status: 0 });
      expect(request?.qpn).toBeGreaterThan(1);
      await guest.run('until rdma resource show qp | grep -q udaddy; do sleep 0.05; done');
      await job.kill('KILL');
    });

    it('refuses names that are taken or unknown', async () => {
      await hostControl.call('cm.listen', { listener: 1, port: PORT });
      const again = hostControl.call('cm.listen', { listener: 1, port: PORT + 1 });
      await expect(again).rejects.toMatchObject({ kind: 'refused', errno: 'EEXIST' });
      // The kernel's words for a port that is taken by a wildcard.
      const taken = hostControl.call('cm.listen', { listener: 2, port: PORT });
      await expect(taken).rejects.toMatchObject({ kind: 'refused', errno: expect.stringMatching(/^EADDR/) });
      await expect(hostControl.call('cm.close', { listener: 9 })).rejects.toMatchObject({ errno: 'ENOENT' });
      await expect(hostControl.call('cm.disconnect', { connection: 9 })).rejects.toMatchObject({ errno: 'ENOTCONN' });
      const nowhere = hostControl.call('cm.connect', { connection: 1, address: 'nowhere', port: PORT });
      await expect(nowhere).rejects.toMatchObject({ errno: 'EINVAL' });
    });
  });

  describe('what is refused', () => {
    let hostControl: AgentClient;

    beforeAll(async () => {
      hostControl = await takeHostControl(guest);
      await furnish(hostControl);
      await makeQp(hostControl, 1, 'rc');
    });

    afterAll(() => hostControl?.close());

    const refused = (errno: string): object => ({ kind: 'refused', errno });

    it('says what verbs say', async () => {
      await expect(hostControl.call('qp.modify', { qp: 1, state: 'RTS' })).rejects.toMatchObject(refused('EINVAL'));
      await expect(hostControl.call('pd.dealloc', { pd: 1 })).rejects.toMatchObject(refused('EBUSY'));
      const send = hostControl.call('qp.send', { qp: 1, wrId: 1, opcode: 'send' });
      await expect(send).rejects.toMatchObject(refused('EINVAL'));
    });

    it('says what names are wrong', async () => {
      await expect(hostControl.call('pd.alloc', { pd: 1 })).rejects.toMatchObject(refused('EEXIST'));
      await expect(hostControl.call('qp.query', { qp: 2 })).rejects.toMatchObject(refused('ENOENT'));
      await expect(hostControl.call('pd.alloc', { pd: 0 })).rejects.toMatchObject(refused('EINVAL'));
    });

    it('never touches memory that is not a region, itself', async () => {
      const range = refused('ERANGE');
      await expect(hostControl.call('mem.read', { mr: 1, offset: 8192, length: 1 })).rejects.toMatchObject(range);
      await expect(hostControl.call('mem.read', { mr: 1, offset: 1, length: 8192 })).rejects.toMatchObject(range);
      await expect(hostControl.call('mem.write', { mr: 1, offset: 8191, hex: '0000' })).rejects.toMatchObject(range);
      for (const astray of [{ offset: 8190 }, { offset: 0, address: 64n }, { offset: 2 ** 40 }]) {
        const pieces = [{ mr: 1, length: 8, ...astray }];
        const inline = hostControl.call('qp.send', { qp: 1, wrId: 1, opcode: 'send', inline: true, pieces });
        await expect(inline).rejects.toMatchObject(refused('EINVAL'));
      }
    });

    it('says what verbs have no way to do', async () => {
      const queues = { sendCq: 1, recvCq: 1, maxSendWr: 1, maxRecvWr: 1, maxSge: 1 };
      const odd = hostControl.call('qp.create', { qp: 9, pd: 1, type: 'rc', ...queues, msn: 5 });
      await expect(odd).rejects.toMatchObject({ kind: 'unsupported', errno: 'EOPNOTSUPP' });
    });
  });

  describe('lines', () => {
    let lines: Lines;

    beforeAll(async () => {
      lines = new Lines((await startAgent(guest)).socket);
      expect(await lines.next()).toMatchObject({ hello: { device: 'rxe0', protocol: 1 } });
    });

    afterAll(() => lines.socket.destroy());

    it.each([
      ['nonsense', null, 'EPROTO'],
      ['[]', null, 'EPROTO'],
      ['{"call":"reset"}', null, 'EPROTO'],
      ['{"id":"1","call":"reset"}', null, 'EPROTO'],
      ['{"id":3}', 3, 'EPROTO'],
      ['{"id":4,"call":"make.coffee","args":{}}', 4, 'EOPNOTSUPP'],
      ['{"id":5,"call":"pd.alloc","args":[]}', 5, 'EPROTO'],
      ['{"id":6,"call":"pd.alloc"}', 6, 'EINVAL'],
      ['{"id":7,"call":"pd.alloc","args":{"pd":"one"}}', 7, 'EINVAL'],
      ['{"id":8,"call":"mem.write","args":{"mr":1,"offset":0,"hex":"0x"}}', 8, 'ENOENT'],
    ])('answers %s', async (line, id, errno) => {
      lines.socket.write(`${line}\n`);
      expect(await lines.next()).toMatchObject({ id, error: { errno, message: expect.any(String) } });
    });

    it('answers a line that is too long once, and the one after it', async () => {
      lines.socket.write(`{"id":1,"call":"${'x'.repeat(3 * 2 ** 20)}"}\n{"id":2,"call":"events"}\n`);
      expect(await lines.next()).toMatchObject({ id: null, error: { errno: 'EMSGSIZE' } });
      expect(await lines.next()).toEqual({ id: 2, ok: { events: [] } });
    });

    it('takes lines in pieces, several at once, and empty ones', async () => {
      lines.socket.write('\n\r\n{"id":1,"call":');
      lines.socket.write('"events"}\r\n{"id":2,"call":"events","args":{}}\n');
      expect(await lines.next()).toEqual({ id: 1, ok: { events: [] } });
      expect(await lines.next()).toEqual({ id: 2, ok: { events: [] } });
    });

    it('carries a mebibyte at once, and many answers that nobody reads for a while', async () => {
      const args = { pd: 1, mr: 1, length: 2 ** 20, access: [] };
      lines.socket.write(`${JSON.stringify({ id: 1, call: 'pd.alloc', args })}\n`);
      lines.socket.write(`${JSON.stringify({ id: 2, call: 'mr.reg', args })}\n`);
      const read = { mr: 1, offset: 0, length: 2 ** 20 };
      lines.socket.pause();
      for (let id = 3; id < 12; id++) lines.socket.write(`${JSON.stringify({ id, call: 'mem.read', args: read })}\n`);
      lines.socket.resume();
      expect(await lines.next()).toEqual({ id: 1, ok: {} });
      expect(await lines.next()).toMatchObject({ id: 2, ok: { lkey: expect.any(Number) } });
      const zeroes = JSON.stringify({ ok: { hex: '00'.repeat(2 ** 20) } });
      for (let id = 3; id < 12; id++) {
        const { id: named, ...rest } = Object(await lines.next());
        expect(named).toBe(id);
        expect(JSON.stringify(rest) === zeroes, JSON.stringify(rest).slice(0, 100)).toBe(true);
      }
    });
  });

  it('answers requests whose arguments make no sense, and lives', async () => {
    const { socket } = await startAgent(guest);
    const lines = new Lines(socket);
    await lines.next();
    const numbers = fc.constantFrom(
      0,
      1,
      2,
      3,
      8,
      64,
      4096,
      -1,
      1.5,
      255,
      256,
      65_536,
      2 ** 20,
      '0x1',
      '0xffffffffffffffff',
    );
    const words = fc.constantFrom(
      'rc',
      'uc',
      'ud',
      'RESET',
      'INIT',
      'RTR',
      'RTS',
      'ERR',
      ADDRESS,
      '::1',
      'send',
      'read',
      'write',
    );
    const more = fc.constantFrom(
      'bind-mw',
      'fetch-add',
      'local-inv',
      'flush',
      'atomic-write',
      'cafe',
      '239.0.0.1',
      true,
      null,
    );
    const flags = fc.constantFrom([], ['local-write'], ['local-write', 'remote-write', 'mw-bind'], ['nonsense'], [7]);
    const leaf = fc.oneof({ weight: 5, arbitrary: numbers }, words, more, flags);
    const names = fc.constantFrom(...MEMBERS);
    const piece = fc.dictionary(fc.constantFrom('mr', 'offset', 'length', 'lkey', 'address'), leaf);
    const value = fc.oneof(
      { weight: 6, arbitrary: leaf },
      fc.array(piece, { maxLength: 3 }),
      fc.dictionary(names, leaf),
    );
    // Small numbers name objects, so that much of it is about something that is there.
    const handles = fc.constantFrom(1, 1, 1, 2);
    const named = fc.record({ pd: handles, cq: handles, mr: handles, qp: handles, sendCq: handles, recvCq: handles });
    const args = fc.tuple(named, fc.dictionary(names, value)).map(([objects, rest]) => ({ ...objects, ...rest }));
    const request = fc.record({ call: fc.constantFrom(...CALLS), args });
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 30, maxLength: 60 }), async (requests) => {
        socket.write(`${FURNISH}\n`);
        socket.write(requests.map((said, index) => `${JSON.stringify({ id: 10 + index, ...said })}\n`).join(''));
        const furnished = FURNISH.split('\n').length;
        for (let count = 0; count < requests.length + furnished; count++) {
          const answer = await lines.next();
          expect(answer).toMatchObject({ id: expect.any(Number) });
        }
      }),
      { numRuns: 60 },
    );
    socket.destroy();
  });

  it('ends with its client, and all that was made goes too', async () => {
    const hostControl = await takeHostControl(guest);
    await furnish(hostControl);
    await connectPair(hostControl);
    await hostControl.close();
    const show = 'rdma resource show qp; rdma resource show mr; rdma resource show cq';
    const { stdout } = await guest.run(`while pidof attached > /dev/null; do sleep 0.05; done; ${show}`);
    expect(stdout).not.toContain('attached');
  });

  it('is gone for its client when it was killed, and another takes its place', async () => {
    const { socket, job } = await startAgent(guest);
    const hostControl = await AgentClient.open(socket, { answerTimeoutMs: 60_000 });
    await job.kill('KILL');
    await expect(hostControl.call('events', {})).rejects.toMatchObject({ kind: 'gone' });
    const next = await takeHostControl(guest);
    await furnish(next);
    await connectPair(next);
    await next.call('qp.recv', { qp: 2, wrId: 9, pieces: [] });
    await next.call('qp.send', { qp: 1, wrId: 1, opcode: 'send' });
    expect((await completions(next, 2)).get(9)).toMatchObject({ status: 0 });
    expect(await bytesAt(next, 0, 2)).toBe('0000');
    await next.close();
  });

  it('speaks over TCP to one client at a time, and over standard input and output', async () => {
    const program = '/run/lab/attached';
    const words = `'{"id":1,"call":"pd.alloc","args":{"pd":1}}'`;
    const piped = await guest.run(`echo ${words} | ${program} --stdio`);
    expect(piped.stdout).toMatch(/^\{"hello":.*\n\{"id":1,"ok":\{\}\}\n$/);
    const server = guest.spawn(`${program} --listen 127.0.0.1:7999`);
    const script = `until nc 127.0.0.1 7999 < /dev/null > /dev/null; do sleep 0.05; done
mkfifo /tmp/f; nc 127.0.0.1 7999 < /tmp/f > /tmp/first & exec 9> /tmp/f
until [ -s /tmp/first ]; do sleep 0.05; done
nc 127.0.0.1 7999 < /dev/null
echo ${words} >&9; until grep -q ok /tmp/first; do sleep 0.05; done; exec 9>&-; wait; cat /tmp/first`;
    const spoken = await guest.run(script);
    const [away, hello, answer] = spoken.stdout.split('\n');
    expect(away).toMatch(/"errno":"EBUSY"/);
    expect(hello).toMatch(/^\{"hello":/);
    expect(answer).toBe('{"id":1,"ok":{}}');
    await server.kill();
  });

  it.each([
    ['', 2, /^usage: rocev2-agent/],
    ['--stdio --console x', 2, /^usage/],
    ['--device mlx9 --stdio', 1, /mlx9: No such device/],
    ['--listen nowhere:1', 1, /nowhere:1: Invalid argument/],
    ['--console /nowhere', 1, /\/nowhere: No such file/],
  ])('says what is wrong with the arguments "%s"', async (args, code, words) => {
    const said = await guest.run(`/run/lab/attached ${args} < /dev/null`);
    expect(said.code).toBe(code);
    expect(said.stderr).toMatch(words);
  });
});

/** Lines of a socket, each a value of JSON. */
class Lines {
  readonly socket: Socket;
  readonly #values: unknown[] = [];
  readonly #waiting: ((value: unknown) => void)[] = [];
  #text = '';

  constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding('utf8');
    socket.on('data', (text) => {
      const parts = (this.#text + String(text)).split('\n');
      this.#text = parts.pop() ?? '';
      for (const part of parts) this.#give(JSON.parse(part));
    });
  }

  next(): Promise<unknown> {
    const [value] = this.#values.splice(0, 1);
    if (value !== undefined) return Promise.resolve(value);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #give(value: unknown): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#values.push(value);
    else waiting(value);
  }
}

/** Something to go wrong with: all that was there goes, and the first objects are made. */
const FURNISH = [
  { id: 1, call: 'reset' },
  { id: 2, call: 'pd.alloc', args: { pd: 1 } },
  { id: 3, call: 'cq.create', args: { cq: 1, entries: 16 } },
  { id: 4, call: 'mr.reg', args: { mr: 1, pd: 1, length: 4096, access: ['local-write', 'mw-bind'] } },
  {
    id: 5,
    call: 'qp.create',
    args: { qp: 1, pd: 1, type: 'rc', sendCq: 1, recvCq: 1, maxSendWr: 4, maxRecvWr: 4, maxSge: 1, maxInline: 64 },
  },
]
  .map((request) => JSON.stringify(request))
  .join('\n');
const CALLS = Object.keys(TAKES);
const MEMBERS = (
  'pd cq mr mw srq qp ah sendCq recvCq entries max length access offset hex maxWr limit wrId pieces type maxSendWr maxRecvWr maxSge ' +
  'maxInline state port pkeyIndex qkey path destQpn rqPsn mtu maxDestRdAtomic minRnrTimer sqPsn timeout opcode signaled inline remoteAddr ' +
  'rkey imm compareAdd swap remoteQpn remoteQkey bind flush destination sgidIndex group mlid listener connection address privateData reject ' +
  'udp mute receives receiveBytes regionBytes solicitedOnly'
).split(' ');

/** Reasons of a REJ, as the kernel gives them. */
const INVALID_SERVICE_ID = 8;
const CONSUMER_DEFINED = 28;
