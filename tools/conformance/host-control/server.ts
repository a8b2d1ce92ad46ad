/**
 * An agent in TypeScript: serves any host control to one client by JSON lines. Owns reading requests, writing answers,
 * and that what a client has made goes with it. What is no request ends the connection: a client that has lost count
 * cannot be answered. Protocol: protocol.ts.
 */
import type { Duplex } from 'node:stream';
import { type HostCall, type HostControl, HostControlError } from './host-control.ts';
import { LineReader } from './lines.ts';
import { AGENT_PROTOCOL, faultOf, isCall, line, MAX_REQUEST_BYTES, REQUEST, TAKES } from './protocol.ts';

/**
 * Serves `hostControl` until the client hangs up, then destroys what it has made. The host control stay open: another
 * client may come.
 */
export async function serveHostControl(hostControl: HostControl, stream: Duplex): Promise<void> {
  const reader = new LineReader(MAX_REQUEST_BYTES);
  const under = new Set<Promise<void>>();
  const over = new Promise<void>((resolve) => stream.once('close', resolve));
  const take = (text: string): void => {
    const request = requestOf(text);
    if (request === undefined) {
      stream.destroy();
      return;
    }
    const answered = answerTo(hostControl, request).then((answer) => {
      under.delete(answered);
      if (stream.writable) stream.write(line(answer));
      if (under.size <= FEW && stream.isPaused()) stream.resume();
    });
    under.add(answered);
  };
  stream.on('error', () => stream.destroy());
  stream.on('end', () => stream.end());
  stream.on('data', (chunk: Buffer) => {
    const { lines, tooLong } = reader.take(chunk);
    for (const text of lines) if (!stream.destroyed) take(text);
    if (tooLong) stream.destroy();
    // Who does not wait for answers is not read on before there are some.
    if (under.size > MANY) stream.pause();
  });
  stream.write(line({ hello: { protocol: AGENT_PROTOCOL, ...hostControl.description } }));
  await over;
  await Promise.all(under);
  await hostControl.call('reset', {});
}

interface Request {
  readonly id: number;
  readonly call: string;
  readonly args?: unknown;
}

/** Undefined for what is none. */
function requestOf(text: string): Request | undefined {
  try {
    return REQUEST.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Never rejects. */
async function answerTo(hostControl: HostControl, { id, call, args = {} }: Request): Promise<object> {
  try {
    if (!isCall(call))
      throw new HostControlError('unsupported', 'EOPNOTSUPP', `there is no call ${JSON.stringify(call)}`);
    return { id, ok: await done(hostControl, call, args) };
  } catch (error) {
    const { kind, errno, message } = asHostControlError(error);
    return { id, error: { kind, errno, message } };
  }
}

function done<C extends HostCall>(hostControl: HostControl, call: C, args: unknown): Promise<object> {
  const taken = TAKES[call].safeParse(args);
  if (!taken.success) throw new HostControlError('refused', 'EINVAL', faultOf(taken.error));
  return hostControl.call(call, taken.data);
}

/** A fault here is reported to the client as if a device had failed. */
function asHostControlError(
  error: unknown,
): Pick<HostControlError, 'errno' | 'message'> & { kind: 'refused' | 'unsupported' } {
  if (error instanceof HostControlError && error.kind !== 'gone')
    return { ...error, kind: error.kind, message: error.message };
  return { kind: 'refused', errno: 'EIO', message: error instanceof Error ? error.message : String(error) };
}

const MANY = 256;
const FEW = 64;
