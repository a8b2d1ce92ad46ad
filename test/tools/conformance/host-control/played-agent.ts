/** An agent that says what the test says, line by line, and time that passes when the test says so. */
import type { Duplex } from 'node:stream';
import { AgentClient, type Timers } from '../../../../tools/conformance/host-control/client.ts';
import { streamPair } from './stream-pair.ts';

/** Time in the host control of the test. */
export class ManualTimers implements Timers {
  #now = 0;
  readonly #timers = new Set<{ readonly at: number; readonly callback: () => void }>();

  now(): number {
    return this.#now;
  }

  set(callback: () => void, ms: number): () => void {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Timers that have not fired. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Milliseconds go by, and what is due happens. */
  pass(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= until).sort((one, other) => one.at - other.at);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = next.at;
      next.callback();
    }
    this.#now = until;
  }
}

interface Request {
  readonly id: number;
  readonly call: string;
  readonly args: object;
}

/** The other end of a client. */
export class PlayedAgent {
  /** The client has hung up. */
  readonly ended: Promise<void>;
  readonly #stream: Duplex;
  readonly #requests: Request[] = [];
  #text = '';
  #waiting: (() => void)[] = [];

  constructor(stream: Duplex, hangsUp: boolean) {
    this.#stream = stream;
    stream.on('error', () => {});
    stream.on('data', (chunk: Buffer) => {
      this.#text += chunk.toString();
      const lines = this.#text.split('\n');
      this.#text = lines.pop() ?? '';
      for (const line of lines) this.#requests.push(JSON.parse(line) as Request);
      for (const wake of this.#waiting.splice(0)) wake();
    });
    this.ended = new Promise((resolve) => {
      stream.once('end', () => {
        if (hangsUp) stream.end();
        resolve();
      });
      stream.once('close', () => resolve());
    });
  }

  /** The next request, waited for. */
  async request(): Promise<Request> {
    for (;;) {
      const request = this.#requests.shift();
      if (request !== undefined) return request;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  say(value: object): void {
    this.write(`${JSON.stringify(value)}\n`);
  }

  write(text: string): void {
    this.#stream.write(text);
  }

  /** Resolves when the client has what was written. */
  async taken(): Promise<void> {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  hangUp(): void {
    this.#stream.end();
  }
}

export interface Played {
  readonly client: AgentClient;
  readonly agent: PlayedAgent;
}

/** A client and its agent, which has introduced itself. The client waits for 1000 ms. */
export async function playedAgent(
  hello: object = {},
  timers: Timers = new ManualTimers(),
  { hangsUp = true }: { readonly hangsUp?: boolean } = {},
): Promise<Played> {
  const [ours, theirs] = streamPair();
  const agent = new PlayedAgent(theirs, hangsUp);
  agent.say({ hello: { ...HELLO, ...hello } });
  return { agent, client: await AgentClient.open(ours, { answerTimeoutMs: 1000, timers }) };
}

/** What an agent says first. */
export const HELLO = {
  protocol: 1,
  device: 'dut0',
  driver: 'none',
  version: '1',
  gids: [],
  activeMtu: 1024,
  maxQpRdAtomic: 1,
  maxSge: 1,
  features: [],
};
