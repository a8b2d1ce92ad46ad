/**
 * Host control of a device on another host: JSON lines to an agent on its host. Owns the calls under way and the end of
 * it all: an agent that does not answer in time, sends an invalid answer, or closes is gone for good, and every call
 * under way and every later one says so. Calls leave at once, in the order in which they were made, whether or not
 * earlier ones were answered. Protocol: protocol.ts.
 */
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { RoceError } from 'rocev2/packets';
import {
  type HostCall,
  type HostCalls,
  type HostControl,
  HostControlError,
  type HostDescription,
} from './host-control.ts';
import { LineReader } from './lines.ts';
import { ANSWER, faultOf, GIVES, HELLO, MAX_ANSWER_BYTES, MAX_REQUEST_BYTES, requestLine } from './protocol.ts';

/** How the client learns that time passes. */
export interface Timers {
  /** Milliseconds, of any epoch. */
  now(): number;
  /** Calls back once, and gives what `clear` takes. */
  set(callback: () => void, ms: number): () => void;
}

/** Bounds of a client. */
export interface ClientOptions {
  /** How long an agent that has something to answer may say nothing, in milliseconds. */
  readonly answerTimeoutMs: number;
  /** Default: real time. */
  readonly timers?: Timers;
}

/** Bounds of a connection to an agent. */
export interface ConnectAgentOptions extends ClientOptions {
  /** How long connecting may take, in milliseconds. */
  readonly connectTimeoutMs: number;
}

interface Pending {
  /** Takes what is in `ok`; says what is wrong with it. */
  readonly give: (ok: unknown) => string | undefined;
  readonly refuse: (error: HostControlError) => void;
}

/** Host control by way of a stream to an agent. */
export class AgentClient implements HostControl {
  readonly #stream: Duplex;
  readonly #timers: Timers;
  readonly #timeoutMs: number;
  readonly #reader = new LineReader(MAX_ANSWER_BYTES);
  readonly #pending = new Map<number, Pending>();
  readonly #closed: Promise<void>;
  #description: HostDescription | undefined;
  #greeted: ((error?: HostControlError) => void) | undefined;
  #lastId = 0;
  #gone: HostControlError | undefined;
  /** Time of the last whole line of the agent, or of the first request. */
  #heardAt = 0;
  #stopTimer: (() => void) | undefined;

  private constructor(stream: Duplex, { answerTimeoutMs, timers = REAL_TIME }: ClientOptions) {
    this.#stream = stream;
    this.#timers = timers;
    this.#timeoutMs = answerTimeoutMs;
    this.#closed = new Promise((resolve) => stream.once('close', resolve));
    stream.on('data', (chunk: Buffer) => this.#take(chunk));
    stream.on('error', (error) => this.#end('ECONNRESET', `the agent is gone: ${error.message}`));
    stream.on('end', () => this.#end('ECONNRESET', 'the agent has closed the connection'));
    stream.on('close', () => this.#end('ECONNRESET', 'the connection to the agent has ended'));
  }

  /** Waits for the agent's first line. Rejects with HostControlError `gone` when no valid one comes in time. */
  static async open(stream: Duplex, options: ClientOptions): Promise<AgentClient> {
    const client = new AgentClient(stream, options);
    await client.#greeting();
    return client;
  }

  get description(): HostDescription {
    if (this.#description === undefined)
      throw new HostControlError('gone', 'EPROTO', 'the agent has not sent its first line');
    return this.#description;
  }

  /** Why the agent does not answer any more, once that is so. */
  get gone(): string | undefined {
    return this.#gone?.message;
  }

  call<C extends HostCall>(name: C, args: Readonly<HostCalls[C]['takes']>): Promise<HostCalls[C]['gives']> {
    if (this.#gone !== undefined) return Promise.reject(this.#gone);
    const id = ++this.#lastId;
    const line = requestLine(id, name, args);
    if (Buffer.byteLength(line) > MAX_REQUEST_BYTES)
      return Promise.reject(new HostControlError('refused', 'EMSGSIZE', `${name} is longer than an agent takes`));
    return new Promise((resolve, reject) => {
      const give = (ok: unknown): string | undefined => {
        const given = GIVES[name].safeParse(ok);
        if (!given.success) return `the answer of the agent to ${name} is invalid: ${faultOf(given.error)}`;
        resolve(given.data);
        return undefined;
      };
      this.#expect();
      this.#pending.set(id, { give, refuse: reject });
      this.#stream.write(line);
    });
  }

  /** Says goodbye; an agent that does not hang up in time is left. Calls under way are rejected as `gone`. */
  async close(): Promise<void> {
    const wasGone = this.#gone !== undefined;
    this.#end('ENODEV', 'this host control was closed', false);
    if (!wasGone) this.#stream.end();
    let stop: (() => void) | undefined;
    const late = new Promise<void>((resolve) => {
      stop = this.#timers.set(resolve, this.#timeoutMs);
    });
    if (!this.#stream.closed) await Promise.race([this.#closed, late]);
    stop?.();
    this.#stream.destroy();
  }

  #greeting(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#greeted = (error) => (error === undefined ? resolve() : reject(error));
      this.#expect();
      // The stream may have ended before the listener was added.
      if (this.#stream.destroyed) this.#end('ECONNRESET', 'the connection to the agent has ended');
    });
  }

  #take(chunk: Buffer): void {
    if (this.#gone !== undefined) return;
    const { lines, tooLong } = this.#reader.take(chunk);
    for (const line of lines) {
      const fault = this.#takeLine(line);
      if (fault === undefined) continue;
      this.#end('EPROTO', fault);
      return;
    }
    if (tooLong) this.#end('EPROTO', `the agent sends a line of more than ${MAX_ANSWER_BYTES} bytes`);
  }

  /** What is wrong with it, if something is. */
  #takeLine(line: string): string | undefined {
    const said = parse(line);
    if (said === undefined) return `the agent sent a line that is no JSON: ${excerpt(line)}`;
    this.#heardAt = this.#timers.now();
    if (this.#description === undefined) return this.#takeHello(said.value, line);
    const answer = ANSWER.safeParse(said.value);
    if (!answer.success) return `the agent sent a line that is no answer: ${excerpt(line)}`;
    const { id } = answer.data;
    const pending = this.#pending.get(id);
    if (pending === undefined) return `the agent answers call ${id}, which is not under way`;
    this.#pending.delete(id);
    if ('error' in answer.data) {
      const { kind, errno, message } = answer.data.error;
      pending.refuse(new HostControlError(kind, errno, message));
      return undefined;
    }
    const fault = pending.give(answer.data.ok);
    if (fault !== undefined) this.#pending.set(id, pending);
    return fault;
  }

  #takeHello(value: unknown, line: string): string | undefined {
    const hello = HELLO.safeParse(value);
    if (!hello.success) return `what answers is no agent of this protocol (${faultOf(hello.error)}): ${excerpt(line)}`;
    const { protocol: _, ...description } = hello.data.hello;
    this.#description = description;
    this.#greeted?.();
    this.#greeted = undefined;
    return undefined;
  }

  /**
   * An answer of the agent is expected from now on. One timer serves all: it is set again where the agent has spoken
   * meanwhile.
   */
  #expect(): void {
    if (this.#pending.size === 0) this.#heardAt = this.#timers.now();
    if (this.#stopTimer !== undefined) return;
    const look = (): void => {
      this.#stopTimer = undefined;
      if (this.#pending.size === 0 && this.#greeted === undefined) return;
      const left = this.#heardAt + this.#timeoutMs - this.#timers.now();
      if (left > 0) this.#stopTimer = this.#timers.set(look, left);
      else this.#end('ETIMEDOUT', `the agent has not answered for ${this.#timeoutMs} ms`);
    };
    this.#stopTimer = this.#timers.set(look, this.#timeoutMs);
  }

  /** For good. */
  #end(errno: string, message: string, abruptly = true): void {
    if (this.#gone !== undefined) return;
    const gone = new HostControlError('gone', errno, message);
    this.#gone = gone;
    this.#stopTimer?.();
    this.#greeted?.(gone);
    this.#greeted = undefined;
    for (const { refuse } of this.#pending.values()) refuse(gone);
    this.#pending.clear();
    if (abruptly) this.#stream.destroy();
  }
}

/**
 * Host control of the agent that listens at `HOST:PORT` (an IPv6 address in brackets). Rejects with RoceError
 * ERR_ROCE_ARGUMENT for what is no such address, and with HostControlError `gone` when there is no listener, or
 * the listener does not speak the protocol.
 */
export async function connectAgent(address: string, options: ConnectAgentOptions): Promise<AgentClient> {
  const socket = await connected(address, options);
  return AgentClient.open(socket, options);
}

function connected(address: string, { connectTimeoutMs, timers = REAL_TIME }: ConnectAgentOptions): Promise<Socket> {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(address) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port < 1 || port > 0xff_ff)
    throw new RoceError('ERR_ROCE_ARGUMENT', `an agent's address is HOST:PORT, not ${JSON.stringify(address)}`);
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    const fail = (errno: string, why: string): void => {
      socket.destroy();
      reject(new HostControlError('gone', errno, `no agent answers at ${address}: ${why}`));
    };
    const stop = timers.set(() => fail('ETIMEDOUT', `not within ${connectTimeoutMs} ms`), connectTimeoutMs);
    socket.once('error', (error: NodeJS.ErrnoException) => {
      stop();
      fail(error.code ?? 'EIO', error.message);
    });
    socket.once('connect', () => {
      stop();
      socket.removeAllListeners('error');
      resolve(socket);
    });
  });
}

/** Undefined where it is no JSON. */
function parse(line: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(line) };
  } catch {
    return undefined;
  }
}

function excerpt(line: string): string {
  return JSON.stringify(line.length > EXCERPT ? `${line.slice(0, EXCERPT)}...` : line);
}

const EXCERPT = 80;

const REAL_TIME: Timers = {
  now: () => performance.now(),
  set: (callback, ms) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
