/**
 * JSON lines between conformance tester and agent, both ends: what a server makes of any request, what a client makes
 * of any answer. An input is flags 1 (1: the bytes are answers; the rest: size of the pieces) | lines.
 */
import { duplexPair } from 'node:stream';
import { AgentClient } from '../../../tools/conformance/host-control/client.ts';
import { HostControlError } from '../../../tools/conformance/host-control/host-control.ts';
import { inProcessHostControl } from '../../../tools/conformance/host-control/in-process.ts';
import { ANSWER } from '../../../tools/conformance/host-control/protocol.ts';
import { serveHostControl } from '../../../tools/conformance/host-control/server.ts';
import { HELLO } from '../../tools/conformance/host-control/played-agent.ts';
import { makeWorld } from '../../tools/conformance/host-control/worlds.ts';
import { type FuzzTarget, promise } from '../engine/target.ts';

const ANSWERS = 1;

async function run(input: Uint8Array): Promise<string> {
  const flags = input[0] ?? 0;
  const bytes = Buffer.from(input.slice(1));
  const size = 1 + (flags >>> 1) * 8;
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return (flags & ANSWERS) !== 0 ? client(pieces) : server(pieces);
}

/** A client with three calls under way hears the bytes. */
async function client(pieces: readonly Buffer[]): Promise<string> {
  const [ours, theirs] = pair();
  theirs.resume();
  const timers = { now: () => 0, set: () => () => {} };
  const ends: string[] = [];
  const note = (error: unknown): void => {
    if (!(error instanceof HostControlError)) throw error;
    promise(error.message !== '' && error.errno !== '', 'a refusal says why');
    ends.push(error.kind);
  };
  theirs.write(`${JSON.stringify({ hello: HELLO })}\n`);
  const agent = await AgentClient.open(ours, { answerTimeoutMs: 1000, timers });
  const calls = [
    agent.call('pd.alloc', { pd: 1 }),
    agent.call('events', {}),
    agent.call('cq.poll', { cq: 1, max: 4 }),
  ].map((call) => call.then(() => void ends.push('answered'), note));
  for (const piece of pieces) if (theirs.writable) theirs.write(piece);
  theirs.end();
  await Promise.all(calls);
  ours.destroy();
  theirs.destroy();
  return `client: ${ends.join(', ')}`;
}

/** A server of a device hears the bytes; what it answers are answers. */
async function server(pieces: readonly Buffer[]): Promise<string> {
  const [ours, theirs] = pair();
  const { a: device } = makeWorld();
  const over = serveHostControl(inProcessHostControl(device), theirs);
  let said = '';
  ours.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  for (const piece of pieces) if (ours.writable) ours.write(piece);
  // A client that hangs up is answered no more.
  for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve));
  ours.end();
  await over;
  promise(device.qpCount === 0, 'what a client has made goes with it');
  const [hello = '', ...answers] = said.split('\n').slice(0, -1);
  promise(hello.startsWith('{"hello"'), 'a server greets first');
  const kinds = answers.map((line) => {
    const answer = ANSWER.safeParse(JSON.parse(line));
    promise(answer.success, 'what a server answers is an answer');
    return 'error' in answer.data ? `${answer.data.error.kind} ${answer.data.error.errno}` : 'ok';
  });
  return `server: ${[...new Set(kinds)].sort().join(', ')}`;
}

function pair() {
  const [ours, theirs] = duplexPair();
  ours.on('error', () => {});
  theirs.on('error', () => {});
  ours.once('close', () => theirs.destroy());
  theirs.once('close', () => ours.destroy());
  return [ours, theirs] as const;
}

function seeds(): Uint8Array[] {
  const calls = [
    ['pd.alloc', { pd: 1 }],
    ['cq.create', { cq: 1, entries: 9 }],
    ['qp.create', { qp: 1, pd: 1, type: 'rc', sendCq: 1, recvCq: 1, maxSendWr: 1, maxRecvWr: 1, maxSge: 1 }],
    ['mr.reg', { mr: 1, pd: 1, length: 64, access: ['local-write', 'remote-write'] }],
    ['mem.write', { mr: 1, offset: 0, hex: 'a5a5' }],
    ['mem.read', { mr: 1, offset: 0, length: 4 }],
    ['qp.create', { qp: 2, pd: 1, type: 'ud', sendCq: 1, recvCq: 1, maxSendWr: 1, maxRecvWr: 1, maxSge: 1 }],
    ['mcast.attach', { qp: 2, group: '239.1.2.3', mlid: 0xc0_01 }],
    ['mcast.attach', { qp: 2, group: 'ff0e::1:2' }],
    ['mcast.detach', { qp: 2, group: '239.1.2.3' }],
    ['cq.poll', { cq: 1, max: 4 }],
    ['events', {}],
    ['reset', {}],
  ];
  const lines = calls.map(([call, args], index) => `${JSON.stringify({ id: index + 1, call, args })}\n`);
  const answers = [
    '{"id":1,"ok":{}}\n{"id":2,"ok":{"events":[]}}\n{"id":3,"ok":{"completions":[]}}\n',
    '{"id":1,"error":{"kind":"refused","errno":"EINVAL","message":"no"}}\n{"id":3,"error":{"kind":"unsupported","errno":"EOPNOTSUPP","message":"x"}}\n',
    '{"id":9,"ok":{}}\n',
  ];
  const of = (flags: number, text: string): Uint8Array => Uint8Array.from([flags, ...Buffer.from(text)]);
  return [
    ...answers.map((text) => of(0xf1, text)),
    ...lines.map((text) => of(0xf0, text)),
    of(0xf0, lines.join('')),
    of(4, lines.join('')),
  ];
}

export const target: FuzzTarget = {
  name: 'agent',
  maxBytes: 2500,
  words: [
    '{"id":1,"call":"',
    '","args":{',
    '}}\n',
    '"0x',
    'null',
    '[]',
    '-1',
    '1e400',
    '\\u0000',
    '"__proto__":',
    '"rc"',
    '"ud"',
  ],
  seeds,
  run,
};
