/**
 * Goal: a client of the server is answered whatever it asks, loses its connection for what is no request, and leaves
 * nothing behind. Method: lines written by the test to a server of host control of a device in a simulated world.
 */
import type { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { inProcessHostControl } from '../../../../tools/conformance/host-control/in-process.ts';
import { MAX_REQUEST_BYTES } from '../../../../tools/conformance/host-control/protocol.ts';
import { serveHostControl } from '../../../../tools/conformance/host-control/server.ts';
import { streamPair } from './stream-pair.ts';
import { makeWorld } from './worlds.ts';

it('says who it is, and answers each request under its id', async () => {
  const { client, said } = serve();
  client.write('{"id":5,"call":"pd.alloc","args":{"pd":1}}\n\n{"id":7,"call":"events"}\n');
  expect(await said(3)).toMatchObject([
    { hello: { protocol: 1, device: 'device 1', driver: 'rocev2' } },
    { id: 5, ok: {} },
    { id: 7, ok: { events: [] } },
  ]);
});

it.each([
  ['a call that does not exist', '"fly","args":{}', 'unsupported', 'EOPNOTSUPP', 'there is no call "fly"'],
  ['a name of every object', '"constructor","args":{}', 'unsupported', 'EOPNOTSUPP', 'there is no call'],
  ['an argument that is missing', '"pd.alloc","args":{}', 'refused', 'EINVAL', 'pd: '],
  ['an argument nobody knows', '"pd.alloc","args":{"pd":1,"qd":2}', 'refused', 'EINVAL', 'qd'],
  ['a number that is none', '"cq.create","args":{"cq":1,"entries":1.5}', 'refused', 'EINVAL', 'entries: '],
  ['no arguments', '"pd.alloc","args":null', 'refused', 'EINVAL', ''],
  ['what verbs refuse', '"cq.poll","args":{"cq":9,"max":1}', 'refused', 'ENOENT', 'completion queue 9'],
])('refuses %s and goes on', async (_what, request, kind, errno, message) => {
  const { client, said } = serve();
  client.write(`{"id":1,"call":${request}}\n{"id":2,"call":"events","args":{}}\n`);
  expect((await said(3)).slice(1)).toMatchObject([
    { id: 1, error: { kind, errno, message: expect.stringContaining(message) } },
    { id: 2, ok: {} },
  ]);
});

it.each([
  ['no JSON', 'hello?\n'],
  ['no request', '{"id":0,"call":"events"}\n'],
  ['a line without end', 'x'.repeat(MAX_REQUEST_BYTES + 1)],
])('hangs up on %s, and destroys what was made', async (_what, text) => {
  const { client, said, over, device } = serve();
  const qp = '"pd":1,"type":"rc","sendCq":1,"recvCq":1,"maxSendWr":1,"maxRecvWr":1,"maxSge":1';
  client.write('{"id":1,"call":"pd.alloc","args":{"pd":1}}\n{"id":2,"call":"cq.create","args":{"cq":1,"entries":9}}\n');
  client.write(`{"id":3,"call":"qp.create","args":{"qp":1,${qp}}}\n`);
  await said(4);
  expect(device.qpCount).toBe(1);
  client.write(text);
  await over;
  expect(device.qpCount).toBe(0);
});

it('serves one client after another with the same host control', async () => {
  const { a: device } = makeWorld();
  const hostControl = inProcessHostControl(device);
  for (let round = 0; round < 3; round++) {
    const { client, said, over } = serve(hostControl, device);
    client.write('{"id":1,"call":"pd.alloc","args":{"pd":1}}\n');
    expect((await said(2))[1]).toEqual({ id: 1, ok: {} });
    client.end();
    await over;
  }
});

it('answers a client that asks thousands of times before it reads', async () => {
  const { client, said } = serve();
  const ask = Array.from({ length: 5000 }, (_, index) => `{"id":${index + 1},"call":"events","args":{}}\n`);
  client.write(ask.join(''));
  const answers = (await said(5001)).slice(1);
  expect(answers.map((answer) => 'id' in answer && answer.id)).toEqual(ask.map((_, index) => index + 1));
});

interface Served {
  readonly client: Duplex;
  readonly over: Promise<void>;
  readonly device: ReturnType<typeof makeWorld>['a'];
  /** All that was said, once it is so many lines. */
  readonly said: (count: number) => Promise<object[]>;
}

function serve(hostControl?: ReturnType<typeof inProcessHostControl>, device = makeWorld().a): Served {
  const [client, theirs] = streamPair();
  const over = serveHostControl(hostControl ?? inProcessHostControl(device), theirs);
  let text = '';
  let woken = (): void => {};
  client.on('error', () => {});
  client.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    woken();
  });
  const said = async (count: number): Promise<object[]> => {
    for (;;) {
      const lines = text.split('\n').slice(0, -1);
      if (lines.length >= count) return lines.map((line) => JSON.parse(line) as object);
      await new Promise<void>((resolve) => {
        woken = resolve;
      });
    }
  };
  return { client, over, device, said };
}
