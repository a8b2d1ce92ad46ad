/**
 * Takes packets from any source, keeps those that pass the filter, prints them and writes them to a file.
 *
 * Owns the loop: one packet at a time, so that memory does not grow, and at the speed of the reader of the output.
 * Never opens a file.
 */

import type { Writable } from 'node:stream';
import { Analyzer, type CapturedPacket, Dissection, dissect } from 'rocev2/pcap';
import { type FilterSubject, isAnalysisField, type PacketFilter } from 'rocev2/pcap/filter';
import type { LadderStreamLayout } from '../ladder/index.ts';
import { OWN_COLORS } from '../visible-text.ts';
import { LadderPrinter } from './ladder-printer.ts';
import { Output, TextBuffer } from './output.ts';
import { type FieldColumns, FieldPrinter, JsonPrinter, LinePrinter, type PacketPrinter } from './printers.ts';
import type { CaptureSource, PacketCopy } from './source.ts';
import { TimeColumn, type TimeFormat } from './time-text.ts';
import { WrittenCopy } from './written-copy.ts';

export interface DumpOptions {
  /** Only packets that pass; all others count for nothing but the time of the first packet. */
  readonly filter?: PacketFilter;
  /** All fields on several lines. */
  readonly verbose?: boolean;
  /** One JSON object a line, keys as tshark names them. */
  readonly json?: boolean;
  /** These fields only, in columns. */
  readonly fields?: FieldColumns;
  /** Arrows between hosts; what differs from the defaults of the drawing. */
  readonly ladder?: LadderStreamLayout;
  /** Default relative. */
  readonly time?: TimeFormat;
  /**
   * Run the analysis, and print what is remarkable about each packet. Filters and fields that need the analysis switch
   * it on.
   */
  readonly analyze?: boolean;
  /** Stop after this many packets that pass. */
  readonly count?: number;
  /** Also written as pcapng. */
  readonly capture?: Writable;
  /** Do not print at all: when the capture itself goes to standard output. */
  readonly quiet?: boolean;
}

/**
 * Prints the packets of `source` that pass the filter to `out`. Ends early, without an error, when the reader of `out`
 * goes away (EPIPE). Errors of the source pass through after everything before them was printed and written.
 *
 * @returns the number of packets printed
 */
export async function dumpFrames(source: CaptureSource, options: DumpOptions, out: Writable): Promise<number> {
  const run = new Dump(source, options, out);
  try {
    await run.packets();
  } finally {
    await run.finish();
  }
  return run.shown;
}

class Dump {
  /** Packets that passed. */
  shown = 0;
  readonly #source: CaptureSource;
  readonly #options: DumpOptions;
  readonly #subjects: SubjectReader;
  readonly #printer: PacketPrinter;
  readonly #time: TimeColumn;
  readonly #lines: TextBuffer;
  readonly #text: Output;
  readonly #copy: PacketCopy | undefined;
  readonly #file: Output | undefined;

  constructor(source: CaptureSource, options: DumpOptions, out: Writable) {
    this.#source = source;
    this.#options = options;
    this.#subjects = new SubjectReader(source, needsAnalysis(options));
    this.#lines = new TextBuffer(ownCharacters(options));
    this.#time = new TimeColumn(options.time ?? 'relative');
    this.#printer = makePrinter(options, this.#time);
    // Lines held back of a file do not depend on the size of its chunks. On a live link the lines must not wait for the
    // next packet.
    const endOfTurn = source.live === true ? () => this.#lines.add(this.#printer.flush()) : undefined;
    this.#text = new Output(out, this.#lines, endOfTurn);
    if (options.capture === undefined) return;
    this.#copy = source.copy?.() ?? new WrittenCopy(source);
    this.#file = new Output(options.capture, this.#copy);
    // The header of a new file is there before the first packet.
    void this.#file.added();
  }

  async packets(): Promise<void> {
    const { count = Number.POSITIVE_INFINITY, filter, quiet = false } = this.#options;
    if (!quiet) this.#lines.add(this.#printer.heading());
    if (count <= 0) return;
    for await (const packet of this.#source) {
      const subject = this.#subjects.read(packet);
      this.#time.see(packet);
      if (filter !== undefined && !filter(subject)) continue;
      const waits = this.#take(subject, quiet);
      if (waits !== undefined) await waits;
      this.shown++;
      if (this.shown >= count || this.#text.closed || this.#file?.closed) break;
    }
  }

  /** Prints and writes one; what it returns is to be awaited. */
  #take(subject: FilterSubject, quiet: boolean): Promise<unknown> | undefined {
    if (!quiet) this.#lines.add(this.#printer.print(subject));
    this.#copy?.keep(subject.packet);
    const text = quiet ? undefined : this.#text.added();
    const file = this.#file?.added();
    return text === undefined ? file : Promise.all([text, file]);
  }

  async finish(): Promise<void> {
    this.#lines.add(this.#printer.flush());
    await this.#file?.end();
    await this.#text.drained();
  }
}

/** Makes the subject of the filter from a packet: dissected only, or analyzed. */
class SubjectReader {
  readonly #source: CaptureSource;
  readonly #analyzer: Analyzer | undefined;
  readonly #dissection = new Dissection();

  constructor(source: CaptureSource, analyze: boolean) {
    this.#source = source;
    this.#analyzer = analyze ? new Analyzer({ maxEvents: 0 }) : undefined;
  }

  read(packet: CapturedPacket): FilterSubject {
    const interfaceName = this.#source.interfaces?.[packet.interfaceIndex]?.name;
    if (this.#analyzer !== undefined) {
      const facts = this.#analyzer.packet(packet);
      return { packet, dissection: facts.dissection, facts, interfaceName };
    }
    dissect(packet, this.#dissection);
    return { packet, dissection: this.#dissection, interfaceName };
  }
}

function makePrinter({ json, fields, ladder, verbose = false }: DumpOptions, time: TimeColumn): PacketPrinter {
  if (json === true) return new JsonPrinter();
  if (fields !== undefined) return new FieldPrinter(fields);
  return ladder === undefined ? new LinePrinter(time, verbose) : new LadderPrinter(time, ladder);
}

/** What is in the text because the user wants it: colours, and the separator of columns. */
function ownCharacters({ ladder, fields }: DumpOptions): RegExp | undefined {
  if (ladder?.color === true) return OWN_COLORS;
  const separator = fields?.separator ?? '';
  return separator === '' ? undefined : new RegExp(`(${separator.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')})`);
}

function needsAnalysis({ analyze = false, filter, fields, ladder }: DumpOptions): boolean {
  return (
    analyze || ladder !== undefined || filter?.needsAnalysis === true || fields?.names.some(isAnalysisField) === true
  );
}
