/**
 * What the queues of `roce nvme serve` do: commands, bytes, errors, latency and outstanding commands, by queue and
 * host, on one line of a terminal, as lines elsewhere, and as a table at the end. Owns the counts. The
 * latency of a command is that within the target: from its capsule to its response.
 */
import type { Controller, TargetQueue } from 'rocev2/nvme';
import type { ToolOutput } from '../output.ts';
import type { ProgressTerminal } from '../progress-line.ts';
import { formatTable, grouped } from '../table.ts';

/** Durations by powers of two with eight steps each: what it tells is at most an eighth too long. */
export class LatencyHistogram {
  readonly #counts = new Uint32Array(STEPS * 64);
  #total = 0;

  add(durationNs: number): void {
    const power = Math.floor(Math.log2(Math.max(1, durationNs)));
    const step = Math.floor((durationNs / 2 ** power - 1) * STEPS);
    const index = Math.min(this.#counts.length - 1, Math.max(0, power * STEPS + step));
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#total++;
  }

  /** The duration that this part of all, 0 to 1, did not exceed, in nanoseconds; undefined before the first. */
  at(part: number): number | undefined {
    let seen = 0;
    for (const [index, count] of this.#counts.entries()) {
      seen += count;
      if (count > 0 && seen >= part * this.#total)
        return 2 ** Math.floor(index / STEPS) * (1 + ((index % STEPS) + 1) / STEPS);
    }
    return undefined;
  }
}

interface Row {
  readonly host: string;
  readonly controller: number;
  readonly queue: TargetQueue;
  readonly latency: LatencyHistogram;
}

export class ServeStatistics {
  readonly #output: ToolOutput;
  readonly #terminal: ProgressTerminal;
  readonly #rows = new Map<TargetQueue, Row>();
  #shown = 0;
  #drawn = false;
  #beats = 0;

  constructor(output: ToolOutput, terminal: ProgressTerminal) {
    this.#output = output;
    this.#terminal = terminal;
  }

  joined({ id, hostNqn }: Controller, queue: TargetQueue): void {
    // What is gone stays in the table, but not without bound.
    for (const old of this.#rows.keys()) {
      if (this.#rows.size < MOST_ROWS) break;
      if (old.closed) this.#rows.delete(old);
    }
    this.#rows.set(queue, { host: hostNqn, controller: id, queue, latency: new LatencyHistogram() });
  }

  ended(queue: TargetQueue, durationNs: number): void {
    // Event requests are held on the admin queue until something happens.
    if (queue.qid !== 0) this.#rows.get(queue)?.latency.add(durationNs);
  }

  /** Prints a line; on a terminal above the one that is written over. */
  line(text: string): void {
    this.clear();
    this.#output.line(text);
  }

  /** Once a second. */
  beat(): void {
    this.#beats++;
    const rows = this.#live();
    const commands = rows.reduce((sum, { queue }) => sum + queue.counters.commands, 0);
    if (this.#terminal.isTTY === true) {
      const text = rows
        .map(rowText)
        .join('; ')
        .slice(0, (this.#terminal.columns || 80) - 1);
      if (text === '') this.clear();
      else this.#terminal.write(`\r${text}${ERASE_REST}`);
      this.#drawn = text !== '';
    } else if (this.#beats % BEATS_PER_LINE === 0 && commands !== this.#shown) {
      for (const row of rows) this.#output.line(rowText(row));
      this.#shown = commands;
    }
  }

  /** Takes the line away. */
  clear(): void {
    if (this.#drawn) this.#terminal.write(`\r${ERASE_REST}`);
    this.#drawn = false;
  }

  /** All queues that there were. */
  totals(): void {
    this.clear();
    const rows = [...this.#rows.values()].map(({ host, controller, queue, latency }) => {
      const { commands, errors, bytesToHost, bytesFromHost } = queue.counters;
      const counts = [commands, errors, bytesToHost, bytesFromHost].map(grouped);
      const times = [latency.at(0.5), latency.at(0.99)].map(microseconds);
      return [host, `${controller}`, `${queue.qid}`, ...counts, ...times];
    });
    if (rows.length === 0) return;
    const heads = ['host', 'controller', 'queue', 'commands', 'errors', 'read', 'written', 'p50', 'p99'];
    const sides = heads.map((_, i) => (i === 0 ? 'left' : 'right'));
    for (const line of formatTable(heads, rows, sides)) this.#output.line(line);
  }

  /** I/O queues that live, or the admin queues of hosts that have no other. */
  #live(): Row[] {
    const rows = [...this.#rows.values()].filter(({ queue }) => !queue.closed);
    const io = rows.filter(({ queue }) => queue.qid !== 0);
    return io.length > 0 ? io : rows;
  }
}

function rowText({ controller, queue, latency }: Row): string {
  const { commands, errors, bytesToHost, bytesFromHost } = queue.counters;
  const times = `p50 ${microseconds(latency.at(0.5))}, p99 ${microseconds(latency.at(0.99))}`;
  return (
    `controller ${controller} queue ${queue.qid}: ${grouped(commands)} commands, ${grouped(errors)} errors, ` +
    `${megabytes(bytesToHost)} read, ${megabytes(bytesFromHost)} written, ${queue.outstanding} outstanding, ${times}`
  );
}

function microseconds(durationNs: number | undefined): string {
  return durationNs === undefined ? '-' : `${grouped(Math.round(durationNs / 1000))} us`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

const STEPS = 8;
const MOST_ROWS = 1000;
const BEATS_PER_LINE = 10;
const ERASE_REST = '\u001b[K';
