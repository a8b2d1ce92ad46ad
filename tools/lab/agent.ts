/**
 * The host's end of a guest's control channel: requests and answers are lines over a unix socket, matched by number, so
 * any number of commands run at once. Owns the protocol that init.ts answers; independent of qemu.
 */
import type { Socket } from 'node:net';
import { RoceError } from 'rocev2/packets';
import { CHUNK_BYTES } from './init.ts';

export type OutputStream = 'out' | 'err';

export interface JobExit {
  /** The command's exit code; 128 + the signal's number when one ended it. */
  readonly code: number;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
}

/** Splits a byte stream into lines; a line may arrive in any number of pieces. */
export class LineSplitter {
  #pieces: string[] = [];

  /** The lines that `text` completes, without their ends. */
  push(text: string): string[] {
    const parts = text.split('\n');
    const last = parts.pop() ?? '';
    const lines = parts.map((part, index) => (index === 0 ? this.#pieces.join('') + part : part));
    if (lines.length > 0) this.#pieces = [];
    if (last !== '') this.#pieces.push(last);
    return lines;
  }
}

export class AgentChannel {
  /** The guest's first line: its kernel release, or a `RoceError` with the reason why it cannot be used. */
  readonly ready: Promise<string>;
  readonly #socket: Socket;
  readonly #splitter = new LineSplitter();
  readonly #waiting = new Map<string, Waiter>();
  #nextId = 1;
  #closed: RoceError | undefined;

  /** `ended` settles with the reason when the guest is gone: everything that waits then fails with it. */
  constructor(socket: Socket, ended: Promise<string>) {
    this.#socket = socket;
    this.ready = this.#wait(READY_ID).then((fields) => fields[0] ?? '');
    // A channel may close before anything waits for it.
    this.ready.catch(() => undefined);
    socket.setEncoding('latin1');
    socket.on('data', (text) => {
      for (const line of this.#splitter.push(String(text))) this.#answer(line);
    });
    socket.on('error', () => undefined);
    void ended.then((reason) => this.close(reason));
  }

  /** Starts a shell script in the guest; the exit comes when it has ended. */
  start(script: string): { readonly job: string; readonly exit: Promise<JobExit> } {
    const job = this.#newId();
    const exit = this.#request(job, `run ${job} ${Buffer.from(script, 'utf8').toString('base64')}`).then(parseExit);
    exit.catch(() => undefined);
    return { job, exit };
  }

  /** What a job has written from byte `from` on, up to now. */
  async read(job: string, stream: OutputStream, from = 0): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for (let index = Math.floor(from / CHUNK_BYTES); ; index++) {
      const id = this.#newId();
      const [text] = await this.#request(id, `read ${id} ${job} ${stream} ${index}`);
      const chunk = Buffer.from(text ?? '', 'base64');
      pieces.push(chunk.subarray(Math.max(0, from - index * CHUNK_BYTES)));
      if (chunk.length < CHUNK_BYTES) return Buffer.concat(pieces);
    }
  }

  /** Signals a job and all it started, unless they made sessions of their own. */
  async kill(job: string, signal: 'TERM' | 'KILL' | 'INT'): Promise<void> {
    const id = this.#newId();
    await this.#request(id, `kill ${id} ${job} ${signal}`);
  }

  /** Forgets a job's output. */
  async drop(job: string): Promise<void> {
    const id = this.#newId();
    await this.#request(id, `drop ${id} ${job}`);
  }

  /** Ends the channel: everything that waits fails with `reason`. Later calls fail at once. */
  close(reason: string): void {
    if (this.#closed !== undefined) return;
    this.#closed = new RoceError('ERR_ROCE_CLOSED', reason);
    this.#socket.destroy();
    for (const waiter of this.#waiting.values()) waiter.reject(this.#closed);
    this.#waiting.clear();
  }

  #answer(line: string): void {
    const [verb, ...fields] = line.trim().split(' ');
    switch (verb) {
      case 'ready':
        this.#settle(READY_ID, (waiter) => waiter.resolve(fields));
        break;
      case 'failed':
        this.#settle(READY_ID, (waiter) => waiter.reject(setupFailure(fields[0] ?? '')));
        break;
      default:
        // The answer to a request that was given up.
        this.#settle(fields[0] ?? '', (waiter) => waiter.resolve(fields.slice(1)));
    }
  }

  #settle(id: string, settle: (waiter: Waiter) => void): void {
    const waiter = this.#waiting.get(id);
    if (waiter === undefined) return;
    this.#waiting.delete(id);
    settle(waiter);
  }

  #request(id: string, line: string): Promise<string[]> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    const answer = this.#wait(id);
    this.#socket.write(`${line}\n`);
    return answer;
  }

  #wait(id: string): Promise<string[]> {
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  #newId(): string {
    return String(this.#nextId++);
  }
}

interface Waiter {
  readonly resolve: (fields: string[]) => void;
  readonly reject: (error: RoceError) => void;
}

function parseExit(fields: string[]): JobExit {
  const [code, stdoutBytes, stderrBytes] = fields.map(Number);
  return { code: code ?? -1, stdoutBytes: stdoutBytes ?? 0, stderrBytes: stderrBytes ?? 0 };
}

function setupFailure(reason64: string): RoceError {
  const reason = Buffer.from(reason64, 'base64').toString('utf8').trim();
  return new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `the guest could not be set up: ${reason}`);
}

const READY_ID = 'ready';
