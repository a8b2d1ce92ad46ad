/**
 * Goal: host control behind a client and a server are the same host control; an agent that is silent, goes away or
 * talks nonsense is gone, at once and with a reason, and nobody waits for it. Method: the compliance suite over a pair
 * of streams; then agents played by the test, with time that passes when the test says so.
 */
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { AgentClient, connectAgent } from '../../../../tools/conformance/host-control/client.ts';
import { IN_PROCESS_FEATURES } from '../../../../tools/conformance/host-control/in-process.ts';
import { MAX_ANSWER_BYTES } from '../../../../tools/conformance/host-control/protocol.ts';
import { describeHostControl } from './compliance.ts';
import { HELLO, ManualTimers, playedAgent } from './played-agent.ts';
import { streamPair } from './stream-pair.ts';
import { servedSubject } from './worlds.ts';

describeHostControl(
  'host control behind client and server',
  { features: IN_PROCESS_FEATURES, conforms: true },
  servedSubject,
);

describe('a client', () => {
  it('learns who the agent is, and passes over features it does not know', async () => {
    const { client } = await playedAgent({ features: ['srq', 'levitation', 'cm'] });
    expect(client.description).toMatchObject({ device: 'dut0', features: ['srq', 'cm'] });
    expect(client.gone).toBeUndefined();
  });

  it('sends calls at once and takes answers in any order', async () => {
    const { client, agent } = await playedAgent();
    const first = client.call('cq.events', { cq: 1 });
    const second = client.call('cq.events', { cq: 2 });
    const requests = [await agent.request(), await agent.request()];
    expect(requests.map(({ call, args }) => [call, args])).toEqual([
      ['cq.events', { cq: 1 }],
      ['cq.events', { cq: 2 }],
    ]);
    agent.say({ id: requests[1]?.id, ok: { count: 22 } });
    agent.say({ id: requests[0]?.id, ok: { count: 11 } });
    expect([await first, await second]).toEqual([{ count: 11 }, { count: 22 }]);
  });

  it('writes numbers of 64 bits as strings and reads them', async () => {
    const { client, agent } = await playedAgent();
    void client.call('qp.send', {
      ...{ qp: 1, wrId: 2, opcode: 'cmp-swap', remoteAddr: 0x7f_00_00_00_10_00n, compareAdd: 2n ** 64n - 1n, swap: 0n },
      pieces: [{ mr: 1, offset: 0, length: 8, address: 16n }],
    });
    const { args } = await agent.request();
    expect(args).toMatchObject({ remoteAddr: '0x7f0000001000', compareAdd: '0xffffffffffffffff', swap: '0x0' });
    expect(args).toMatchObject({ pieces: [{ address: '0x10' }] });
    const registered = client.call('mr.reg', { mr: 1, pd: 1, length: 8, access: [] });
    const { id } = await agent.request();
    agent.say({ id, ok: { va: '0xFFFF000000001000', lkey: 1, rkey: 2 } });
    expect(await registered).toEqual({ va: 0xff_ff_00_00_00_00_10_00n, lkey: 1, rkey: 2 });
  });

  it('passes refusals on', async () => {
    const { client, agent } = await playedAgent();
    const refused = expect(client.call('pd.alloc', { pd: 1 })).rejects.toMatchObject({
      ...{ kind: 'unsupported', errno: 'EOPNOTSUPP', message: 'not here' },
    });
    const { id } = await agent.request();
    agent.say({ id, error: { kind: 'unsupported', errno: 'EOPNOTSUPP', message: 'not here' } });
    await refused;
    expect(client.gone).toBeUndefined();
  });

  it('does not send what no agent takes', async () => {
    const { client } = await playedAgent();
    const hex = '00'.repeat(1 << 20);
    await expect(client.call('mem.write', { mr: 1, offset: 0, hex })).rejects.toMatchObject({
      ...{ kind: 'refused', errno: 'EMSGSIZE' },
    });
  });

  it('closes cleanly: who waits is told, and the agent sees the end', async () => {
    const { client, agent } = await playedAgent();
    const waiting = expect(client.call('events', {})).rejects.toMatchObject({ kind: 'gone' });
    await Promise.all([client.close(), agent.ended]);
    await waiting;
    await expect(client.call('events', {})).rejects.toMatchObject({ kind: 'gone' });
    await client.close();
  });

  it('leaves an agent that does not hang up', async () => {
    const timers = new ManualTimers();
    const { client } = await playedAgent({}, timers, { hangsUp: false });
    const closing = client.close();
    timers.pass(1000);
    await closing;
  });
});

describe('an agent is gone for good', () => {
  it.each([
    ['says what is no JSON', '{"id":1,', /no JSON/],
    ['answers what nobody asked', '{"id":77,"ok":{"count":1}}', /call 77, which is not under way/],
    ['answers a call twice', '{"id":1,"ok":{"count":1}}\n{"id":1,"ok":{"count":1}}', /call 1, which is not under way/],
    ['answers with a wrong type', '{"id":1,"ok":{"count":"many"}}', /cq.events is invalid: count/],
    ['answers without what was asked', '{"id":1,"ok":{}}', /cq.events is invalid: count/],
    ['answers neither yes nor no', '{"id":1}', /no answer/],
    ['refuses without saying how', '{"id":1,"error":{"kind":"refused"}}', /no answer/],
    ['says of itself that it is gone', '{"id":1,"error":{"kind":"gone","errno":"E","message":"m"}}', /no answer/],
    ['introduces itself again', '{"hello":{}}', /no answer/],
    ['says a number', '42', /no answer/],
    ['says a line without end', 'x'.repeat(MAX_ANSWER_BYTES + 1), /line of more than 4194304 bytes/],
  ])('that %s', async (_what, text, reason) => {
    const { client, agent } = await playedAgent();
    const asked = client.call('cq.events', { cq: 1 });
    const alsoAsked = client.call('cq.poll', { cq: 1, max: 1 });
    const outcomes = Promise.allSettled([asked, alsoAsked]);
    await agent.request();
    agent.write(`${text}\n`);
    const last = (await outcomes)[1];
    expect(last).toMatchObject({ status: 'rejected', reason: { kind: 'gone', errno: 'EPROTO' } });
    expect(client.gone).toMatch(reason);
    await expect(client.call('events', {})).rejects.toMatchObject({ kind: 'gone' });
    await agent.ended;
  });

  it('that goes away in the middle of a call', async () => {
    const { client, agent } = await playedAgent();
    const asked = expect(client.call('cq.events', { cq: 1 })).rejects.toMatchObject({ kind: 'gone' });
    await agent.request();
    agent.write('{"id":1,"ok":{"cou');
    agent.hangUp();
    await asked;
    expect(client.gone).toMatch(/closed the connection/);
  });

  it('that says nothing for too long, however little that is', async () => {
    const timers = new ManualTimers();
    const { client, agent } = await playedAgent({}, timers);
    timers.pass(5000);
    expect(client.gone).toBeUndefined();
    const outcomes = Promise.allSettled([client.call('events', {}), client.call('cq.events', { cq: 1 })]);
    const { id } = await agent.request();
    timers.pass(999);
    agent.say({ id, ok: { events: [] } });
    await agent.request();
    await agent.taken();
    timers.pass(999);
    expect(client.gone).toBeUndefined();
    agent.write('{"id":2');
    await agent.taken();
    timers.pass(1);
    expect(client.gone).toMatch(/not answered for 1000 ms/);
    expect(await outcomes).toMatchObject([
      { status: 'fulfilled', value: { events: [] } },
      { status: 'rejected', reason: { kind: 'gone', errno: 'ETIMEDOUT' } },
    ]);
    timers.pass(10_000);
    expect(timers.waiting).toBe(0);
  });

  it.each([
    ['another program', 'HTTP/1.1 400 Bad Request', /no JSON/],
    ['another protocol', '{"hello":{"protocol":2}}', /no agent of this protocol/],
    ['one that does not say what it has', '{"hello":{"protocol":1,"device":"x"}}', /no agent of this protocol/],
  ])('that is %s', async (_what, text, reason) => {
    const [ours, theirs] = streamPair();
    const opening = AgentClient.open(ours, { answerTimeoutMs: 1000, timers: new ManualTimers() });
    theirs.write(`${text}\n`);
    await expect(opening).rejects.toMatchObject({ kind: 'gone', message: expect.stringMatching(reason) });
  });

  it('that never says who it is', async () => {
    const timers = new ManualTimers();
    const [ours] = streamPair();
    const opening = expect(AgentClient.open(ours, { answerTimeoutMs: 1000, timers })).rejects.toMatchObject({
      ...{ kind: 'gone', errno: 'ETIMEDOUT' },
    });
    timers.pass(1000);
    await opening;
    expect(ours.destroyed).toBe(true);
  });

  it('that was gone before anybody asked', async () => {
    const [ours, theirs] = streamPair();
    ours.destroy();
    theirs.destroy();
    const opening = AgentClient.open(ours, { answerTimeoutMs: 1000, timers: new ManualTimers() });
    await expect(opening).rejects.toMatchObject({ kind: 'gone' });
  });
});

describe('an address of an agent', () => {
  const options = { answerTimeoutMs: 60_000, connectTimeoutMs: 60_000 };

  it.each(['host', 'host:', ':7471', 'host:0', 'host:65536', '::1:7471', 'a:b:1', ''])(
    '%o is none',
    async (address) => {
      await expect(connectAgent(address, options)).rejects.toMatchObject({ code: 'ERR_ROCE_ARGUMENT' });
    },
  );

  it('at which nobody listens is told by its reason', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const port = portOf(server);
    await new Promise((resolve) => server.close(resolve));
    await expect(connectAgent(`127.0.0.1:${port}`, options)).rejects.toMatchObject({
      ...{ kind: 'gone', errno: 'ECONNREFUSED' },
      message: expect.stringContaining(`no agent answers at 127.0.0.1:${port}`),
    });
  });

  it('at which one listens gives host control', async () => {
    const server = createServer((socket) => {
      socket.write(`${JSON.stringify({ hello: HELLO })}\n`);
      socket.on('end', () => socket.end());
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const client = await connectAgent(`127.0.0.1:${portOf(server)}`, options);
    expect(client.description.device).toBe('dut0');
    await client.close();
    await new Promise((resolve) => server.close(resolve));
  });

  it('that does not answer in time is left', async () => {
    const timers = new ManualTimers();
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    // The handshake takes turns of the event loop, which nobody gives before time is over.
    const connecting = connectAgent(`127.0.0.1:${portOf(server)}`, { ...options, timers });
    const left = expect(connecting).rejects.toMatchObject({ kind: 'gone', errno: 'ETIMEDOUT' });
    timers.pass(60_000);
    await left;
    await new Promise((resolve) => server.close(resolve));
  });
});

function portOf(server: ReturnType<typeof createServer>): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
