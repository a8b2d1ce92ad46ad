/**
 * The line protocol between host control and its users, as data: what each call takes and gives, in JSON. Owns the
 * shapes and the bounds, and that numbers of 64 bits travel as "0x..." strings. docs/conformance-agent.md is the text
 * to it.
 *
 * From the agent, first: {"hello":{...,"protocol":1}}. To it: {"id":1,"call":"qp.create","args":{...}}. From it, for
 * each call: {"id":1,"ok":{...}} or {"id":1,"error":{"kind":"refused","errno":"EINVAL","message":"..."}}.
 */
import { z } from 'zod';
import { FEATURES, type HostCall, type HostCalls } from './host-control.ts';

/** The only one there is. */
export const AGENT_PROTOCOL = 1;
/** Longest line that an agent is sent, and that it may send. */
export const MAX_REQUEST_BYTES = 1 << 20;
export const MAX_ANSWER_BYTES = 4 << 20;
/** Of one `mem.read`, which takes two digits a byte. */
export const MAX_READ_BYTES = 1 << 20;

/** One line to the agent. */
export function requestLine(id: number, call: HostCall, args: object): string {
  return line({ id, call, args });
}

/** One line of JSON. */
export function line(value: object): string {
  return `${JSON.stringify(value, (_key, member: unknown) => (typeof member === 'bigint' ? `0x${member.toString(16)}` : member))}\n`;
}

const whole = z.int().min(0);
const u32 = whole.max(0xff_ff_ff_ff);
const handle = z.int().min(1);
const text = z.string().max(1 << 16);
const hex = z.string().regex(/^(?:[0-9a-fA-F]{2})*$/, 'bytes are pairs of hexadecimal digits');
const u64 = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,16}$/, 'a number of 64 bits is written "0x..."')
  .transform((digits) => BigInt(digits));

const accessFlag = z.enum([
  'local-write',
  'remote-write',
  'remote-read',
  'remote-atomic',
  'mw-bind',
  'flush-global',
  'flush-persistent',
]);
const access = z.array(accessFlag).max(16);
const stateName = z.enum(['RESET', 'INIT', 'RTR', 'RTS', 'SQD', 'SQE', 'ERR']);

const piece = z.strictObject({
  mr: handle,
  offset: whole,
  length: whole,
  lkey: u32.exactOptional(),
  address: u64.exactOptional(),
});
const pieces = z.array(piece).max(64);

const path = z.strictObject({
  destination: text,
  sgidIndex: whole,
  hopLimit: whole.exactOptional(),
  trafficClass: whole.exactOptional(),
  flowLabel: whole.exactOptional(),
  sl: whole.exactOptional(),
});

/** All of `QpAttributes` but the state. */
const attributes = {
  port: whole.exactOptional(),
  pkeyIndex: whole.exactOptional(),
  access: access.exactOptional(),
  qkey: u32.exactOptional(),
  path: path.exactOptional(),
  destQpn: u32.exactOptional(),
  rqPsn: u32.exactOptional(),
  mtu: whole.exactOptional(),
  maxDestRdAtomic: whole.exactOptional(),
  minRnrTimer: whole.exactOptional(),
  sqPsn: u32.exactOptional(),
  timeout: whole.exactOptional(),
  retryCnt: whole.exactOptional(),
  rnrRetry: whole.exactOptional(),
  maxRdAtomic: whole.exactOptional(),
  enSqdAsyncNotify: z.boolean().exactOptional(),
  flowControl: z.boolean().exactOptional(),
  altPath: path.exactOptional(),
  pathMigState: z.enum(['MIGRATED', 'REARM', 'ARMED']).exactOptional(),
};

const sendOpcode = z.enum([
  'write',
  'write-imm',
  'send',
  'send-imm',
  'send-inv',
  'read',
  'cmp-swap',
  'fetch-add',
  'local-inv',
  'bind-mw',
  'flush',
  'atomic-write',
]);

const sendRequest = z.strictObject({
  qp: handle,
  wrId: whole,
  opcode: sendOpcode,
  pieces: pieces.exactOptional(),
  signaled: z.boolean().exactOptional(),
  solicited: z.boolean().exactOptional(),
  fence: z.boolean().exactOptional(),
  inline: z.boolean().exactOptional(),
  remoteAddr: u64.exactOptional(),
  rkey: u32.exactOptional(),
  imm: u32.exactOptional(),
  invalidateRkey: u32.exactOptional(),
  compareAdd: u64.exactOptional(),
  swap: u64.exactOptional(),
  ah: handle.exactOptional(),
  remoteQpn: u32.exactOptional(),
  remoteQkey: u32.exactOptional(),
  bind: z.strictObject({ mw: handle, mr: handle, offset: whole, length: whole, access, rkey: u32 }).exactOptional(),
  flush: z.strictObject({ type: whole, level: whole, length: whole }).exactOptional(),
});

const nothing = z.strictObject({});
const mcast = z.strictObject({ qp: handle, group: text, mlid: whole.exactOptional() });

type TakesOf<C extends HostCall> = Readonly<HostCalls[C]['takes']>;

/** What each call takes, as it comes out of JSON. Unknown members are an error. */
export const TAKES: { readonly [C in HostCall]: z.ZodType<TakesOf<C>> } = {
  'pd.alloc': z.strictObject({ pd: handle }),
  'pd.dealloc': z.strictObject({ pd: handle }),
  'cq.create': z.strictObject({ cq: handle, entries: whole }),
  'cq.destroy': z.strictObject({ cq: handle }),
  'cq.poll': z.strictObject({ cq: handle, max: whole }),
  'cq.arm': z.strictObject({ cq: handle, solicitedOnly: z.boolean() }),
  'cq.events': z.strictObject({ cq: handle }),
  'mr.reg': z.strictObject({ mr: handle, pd: handle, length: whole, access }),
  'mr.dereg': z.strictObject({ mr: handle }),
  'mem.read': z.strictObject({ mr: handle, offset: whole, length: whole.max(MAX_READ_BYTES) }),
  'mem.write': z.strictObject({ mr: handle, offset: whole, hex }),
  'mw.alloc': z.strictObject({ mw: handle, pd: handle }),
  'mw.dealloc': z.strictObject({ mw: handle }),
  'srq.create': z.strictObject({
    ...{ srq: handle, pd: handle, maxWr: whole },
    ...{ xrcd: handle.exactOptional(), cq: handle.exactOptional() },
  }),
  'srq.modify': z.strictObject({ srq: handle, limit: whole }),
  'srq.recv': z.strictObject({ srq: handle, wrId: whole, pieces }),
  'srq.destroy': z.strictObject({ srq: handle }),
  'qp.create': z.strictObject({
    qp: handle,
    pd: handle,
    type: z.enum(['rc', 'uc', 'ud']),
    sendCq: handle,
    recvCq: handle,
    srq: handle.exactOptional(),
    maxSendWr: whole,
    maxRecvWr: whole,
    maxSge: whole,
    maxInline: whole.exactOptional(),
    msn: whole.exactOptional(),
    xrcd: handle.exactOptional(),
  }),
  'qp.modify': z.strictObject({ qp: handle, state: stateName.exactOptional(), ...attributes }),
  'qp.query': z.strictObject({ qp: handle }),
  'qp.destroy': z.strictObject({ qp: handle }),
  'qp.send': sendRequest,
  'qp.recv': z.strictObject({ qp: handle, wrId: whole, pieces }),
  'ah.create': z.strictObject({ ah: handle, pd: handle, ...path.shape }),
  'ah.destroy': z.strictObject({ ah: handle }),
  'mcast.attach': mcast,
  'mcast.detach': mcast,
  events: nothing,
  'port.query': nothing,
  counters: nothing,
  'cm.listen': z.strictObject({
    listener: handle,
    port: whole,
    receives: whole.exactOptional(),
    receiveBytes: whole.exactOptional(),
    regionBytes: whole.exactOptional(),
    reject: hex.exactOptional(),
    mute: z.boolean().exactOptional(),
    udp: z.boolean().exactOptional(),
  }),
  'cm.close': z.strictObject({ listener: handle }),
  'cm.connect': z.strictObject({
    connection: handle,
    address: text,
    port: whole,
    privateData: hex.exactOptional(),
    responderResources: whole.exactOptional(),
    initiatorDepth: whole.exactOptional(),
    retryCount: whole.exactOptional(),
    rnrRetryCount: whole.exactOptional(),
  }),
  'cm.disconnect': z.strictObject({ connection: handle.exactOptional(), listener: handle.exactOptional() }),
  'cm.events': nothing,
  reset: nothing,
};

// What agents say. Unknown members are left out: a later agent may have more to say.

const done = z.object({});

const completion = z.object({
  wrId: whole,
  status: whole,
  opcode: whole,
  byteLen: whole,
  qpn: whole,
  srcQp: whole,
  imm: u32.exactOptional(),
  invalidatedRkey: u32.exactOptional(),
  grh: z.boolean(),
});

const asyncEvent = z.object({
  event: text,
  qp: handle.exactOptional(),
  cq: handle.exactOptional(),
  srq: handle.exactOptional(),
});

const cmEvent = z.object({
  event: text,
  status: z.int(),
  listener: handle.exactOptional(),
  connection: handle.exactOptional(),
  qpn: whole.exactOptional(),
  privateData: hex.exactOptional(),
});

/** What each call gives, as it comes out of JSON. */
export const GIVES: { readonly [C in HostCall]: z.ZodType<HostCalls[C]['gives']> } = {
  'pd.alloc': done,
  'pd.dealloc': done,
  'cq.create': done,
  'cq.destroy': done,
  'cq.poll': z.object({ completions: z.array(completion) }),
  'cq.arm': done,
  'cq.events': z.object({ count: whole }),
  'mr.reg': z.object({ va: u64, lkey: u32, rkey: u32 }),
  'mr.dereg': done,
  'mem.read': z.object({ hex }),
  'mem.write': done,
  'mw.alloc': z.object({ rkey: u32 }),
  'mw.dealloc': done,
  'srq.create': z.object({ srqn: whole.max(0xff_ff_ff).exactOptional() }),
  'srq.modify': done,
  'srq.recv': done,
  'srq.destroy': done,
  'qp.create': z.object({ qpn: whole.max(0xff_ff_ff) }),
  'qp.modify': done,
  'qp.query': z.object({ state: stateName, ...attributes, path: z.object(path.shape).exactOptional() }),
  'qp.destroy': done,
  'qp.send': done,
  'qp.recv': done,
  'ah.create': done,
  'ah.destroy': done,
  'mcast.attach': done,
  'mcast.detach': done,
  events: z.object({ events: z.array(asyncEvent) }),
  'port.query': z.object({
    state: text,
    linkLayer: text,
    lid: whole,
    smLid: whole,
    activeMtu: whole,
    pkeys: z.array(whole.max(0xff_ff)),
  }),
  counters: z.object({ counters: z.record(text, z.number()) }),
  'cm.listen': done,
  'cm.close': done,
  'cm.connect': done,
  'cm.disconnect': done,
  'cm.events': z.object({ events: z.array(cmEvent) }),
  reset: done,
};

const feature = z.enum(FEATURES);

/** The first line of an agent. */
export const HELLO = z.object({
  hello: z.object({
    protocol: z.literal(AGENT_PROTOCOL),
    device: text,
    driver: text,
    version: text,
    gids: z.array(z.object({ index: whole, address: text, type: z.enum(['v1', 'v2']) })),
    activeMtu: whole,
    maxQpRdAtomic: whole,
    maxSge: whole,
    // A later agent may use names that we do not know.
    features: z.array(text).transform((words) => words.flatMap((word) => feature.safeParse(word).data ?? [])),
    cnpDscp: z.number().int().min(0).max(63).exactOptional(),
  }),
});

/** All other lines of an agent; what is in `ok` depends on the call. */
export const ANSWER = z.union([
  z.object({ id: handle, ok: z.unknown().refine((ok) => ok !== undefined) }),
  z.object({
    id: handle,
    error: z.object({ kind: z.enum(['refused', 'unsupported']), errno: text, message: text }),
  }),
]);

/** A line to an agent; what is in `args` depends on the call. */
export const REQUEST = z.object({ id: handle, call: z.string(), args: z.unknown().optional() });

/** Whether there is such a call. */
export function isCall(name: string): name is HostCall {
  return Object.hasOwn(TAKES, name);
}

/** What is wrong with a value, in one line. */
export function faultOf({ issues }: z.ZodError): string {
  const [issue] = issues;
  if (issue === undefined) return 'is invalid';
  const where = issue.path.map(String).join('.');
  return where === '' ? issue.message : `${where}: ${issue.message}`;
}
