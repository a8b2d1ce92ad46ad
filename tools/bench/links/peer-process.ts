/** A peer process as the bench sees it: commands go in, promises of replies come out. Owns the process and its end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { RoceError } from 'rocev2/packets';
import type {
  Amount,
  DiskTask,
  ExchangeTask,
  Figures,
  MeasuredTask,
  PeerCommand,
  PeerConfig,
  PeerCounters,
  PeerMemory,
  PeerReply,
} from './protocol.ts';

/** What a command may take beyond the time it was asked to take: processes start, and other programs run. */
const PATIENCE_MS = 30_000;
const CLOSE_PATIENCE_MS = 5000;
/** Bytes of a peer's standard error that are kept. */
const MAX_COMPLAINT = 4000;

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class PeerProcess {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #exited: Promise<void>;
  #nextId = 1;
  #complaint = '';
  #gone: Error | undefined;

  /**
   * @param prefix words before the command, such as `ip netns exec NAME`
   * @param nodeFlags for Node itself, `--cpu-prof`
   */
  constructor(name: string, prefix: readonly string[], nodeFlags: readonly string[] = []) {
    this.#name = name;
    const node = [process.execPath, ...process.execArgv, '--expose-gc', ...nodeFlags, PEER_FILE];
    const [program = '', ...words] = [...prefix, ...node];
    const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child = child;
    createInterface({ input: child.stdout }).on('line', (line) => this.#receive(JSON.parse(line) as PeerReply));
    child.stderr.on('data', (chunk) => {
      this.#complaint = (this.#complaint + String(chunk)).slice(-MAX_COMPLAINT);
    });
    // EPIPE: the process has ended, which its own events below report.
    child.stdin.on('error', () => {});
    child.on('error', (error) => this.#end(error));
    this.#exited = new Promise((resolve) => {
      child.on('close', (code, signal) => {
        this.#end(new Error(`${name} ended with ${code ?? signal}: ${this.#complaint.trim()}`));
        resolve();
      });
    });
  }

  async open(config: PeerConfig): Promise<void> {
    await this.#ask({ do: 'open', config });
  }

  async connect(): Promise<void> {
    await this.#ask({ do: 'connect' });
  }

  async measure(task: MeasuredTask, amount: Amount): Promise<Figures> {
    return (await this.#ask({ do: 'measure', task, amount }, amount.seconds)) as Figures;
  }

  async measureDisk(task: DiskTask | ExchangeTask, amount: Amount): Promise<Figures> {
    return (await this.#ask({ do: 'disk', task, amount }, amount.seconds)) as Figures;
  }

  async soak(seconds: number): Promise<void> {
    await this.#ask({ do: 'soak', seconds }, seconds);
  }

  async counters(): Promise<PeerCounters> {
    return (await this.#ask({ do: 'counters' })) as PeerCounters;
  }

  async memory(): Promise<PeerMemory> {
    return (await this.#ask({ do: 'memory' })) as PeerMemory;
  }

  /** The process takes no processor time until `resume`; meanwhile it answers nothing. */
  pause(): void {
    if (this.#gone !== undefined || !this.#child.kill('SIGSTOP')) return;
    if (PAUSED.size === 0) for (const signal of ENDING) process.on(signal, endWithPaused);
    PAUSED.add(this.#child);
  }

  resume(): void {
    if (!PAUSED.delete(this.#child)) return;
    this.#child.kill('SIGCONT');
    if (PAUSED.size === 0) for (const signal of ENDING) process.off(signal, endWithPaused);
  }

  /** In good order if it can be; ends the process in any case. */
  async close(): Promise<void> {
    this.resume();
    if (this.#gone === undefined) {
      await this.#ask({ do: 'close' }, 0, CLOSE_PATIENCE_MS).catch(() => {});
      this.#child.stdin?.end();
      const impatience = setTimeout(() => this.#child.kill('SIGKILL'), CLOSE_PATIENCE_MS);
      await this.#exited;
      clearTimeout(impatience);
    }
  }

  #ask(command: PeerCommand, seconds = 0, patienceMs = PATIENCE_MS): Promise<unknown> {
    if (this.#gone !== undefined) return Promise.reject(this.#gone);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const impatience = setTimeout(
        () => {
          this.#waiting.delete(id);
          reject(new Error(`${this.#name} did not ${command.do} in time`));
        },
        seconds * 1000 + patienceMs,
      );
      const settled = (): void => {
        clearTimeout(impatience);
        this.#waiting.delete(id);
      };
      this.#waiting.set(id, {
        resolve: (result) => {
          settled();
          resolve(result);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      });
      this.#child.stdin?.write(`${JSON.stringify({ ...command, id })}\n`);
    });
  }

  #receive(reply: PeerReply): void {
    const waiting = this.#waiting.get(reply.id);
    if (waiting === undefined) return;
    if ('result' in reply) waiting.resolve(reply.result);
    else waiting.reject(errorOf(reply.error));
  }

  #end(error: Error): void {
    this.#gone ??= error;
    for (const { reject } of [...this.#waiting.values()]) reject(this.#gone);
  }
}

/** A `RoceError` of the peer is one on this side as well: it tells refusals of the machine from bugs. */
function errorOf({ code, message }: { readonly code: string; readonly message: string }): Error {
  return code === 'ERR_ROCE_LINK_UNAVAILABLE' ? new RoceError(code, message) : new Error(message);
}

/** A stopped process does not see that its standard input ends, so it would outlive the bench. */
function endWithPaused(signal: NodeJS.Signals): void {
  for (const child of PAUSED) child.kill('SIGKILL');
  for (const each of ENDING) process.off(each, endWithPaused);
  process.kill(process.pid, signal);
}

const PAUSED = new Set<ChildProcess>();
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Beside this file, in the language this file is in. */
const PEER_FILE = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? 'peer.ts' : 'peer.js', import.meta.url));
