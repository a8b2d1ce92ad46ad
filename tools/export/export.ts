/**
 * Exports one capture: reads it once, and writes its packets as they come, all else at its end.
 *
 * Owns which rows there are, and that either all tables of a capture get their names or none does: `captures` last.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from 'rocev2/packets';
import { type Analysis, Analyzer, type CaptureInterface, type CaptureTime, type TransportEvent } from 'rocev2/pcap';
import { withDrops } from '../analyze/drops.ts';
import { type ReadingFlags, type ReadingStreams, readCapture } from '../analyze/read-capture.ts';
import type { Source } from './capture-name.ts';
import { EventSpill } from './event-spill.ts';
import { conversationsOf } from './limit-tables.ts';
import { TableFile, type WholeOf } from './table-file.ts';
import { type Rows, TABLES, type TableName } from './tables.ts';

/** What to export, and where to. */
export interface ExportOptions extends ReadingFlags {
  readonly out: string;
  /** `captures` has to be one of them. */
  readonly tables: readonly TableName[];
  readonly interfacesTogether?: boolean;
  /** Name and version of this program, for the files. */
  readonly createdBy: string;
  /** For tests: rows of a row group. */
  readonly rowGroupRows?: number;
}

/** What came of it. */
export interface Exported {
  readonly packets: number;
  /** Why the file could not be read to its end. */
  readonly damage: Error | undefined;
}

/** A table cannot be written: a full disk, a folder without permission. Nothing of the capture is left. */
export class ExportError extends Error {}

/** The files of this capture that are there already. */
export function existingFiles({ capture }: Source, { out, tables }: ExportOptions): string[] {
  return tables.map((table) => fileOf(out, table, capture)).filter((path) => existsSync(path));
}

/**
 * Writes the tables of a capture, up to the first defect of its file. A file in which not one packet can be read has no
 * tables.
 *
 * @throws ExportError
 */
export async function exportCapture(
  source: Source,
  options: ExportOptions,
  streams: ReadingStreams,
): Promise<Exported> {
  const tables = written(() => new CaptureTables(source, options));
  try {
    let start: CaptureTime | undefined;
    const analyzer = new Analyzer({
      verifyIcrc: options.icrc,
      // All of them wait in a file.
      maxEvents: 0,
      ...defined({ interfacesTogether: options.interfacesTogether }),
      onEvent: (event) => tables.keep(event),
    });
    const { interfaces, damage } = await readCapture(source.file, options, streams, (packet, icrc) => {
      start ??= { seconds: packet.seconds, nanoseconds: packet.nanoseconds };
      tables.add('packets', analyzer.packet(packet, icrc));
    });
    const analysis = withDrops(analyzer.finish(), interfaces);
    if (damage !== undefined && start === undefined) {
      tables.discard();
      return { packets: 0, damage };
    }
    const events = start === undefined ? 0 : tables.addEvents(start, (event) => analyzer.reported(event));
    tables.addAnalysis(analysis, interfaces, start);
    tables.add('captures', { file: source.file, analysis, start, events, damage: damage?.message });
    tables.publish((id) => analyzer.wholeOf(id));
    return { packets: analysis.capture.packets, damage };
  } catch (error) {
    tables.discard();
    throw error;
  }
}

type Files = { [Name in TableName]?: TableFile<Rows[Name]> };

/** The files of one capture. */
class CaptureTables {
  readonly #source: Source;
  readonly #options: ExportOptions;
  readonly #files: Files = {};
  #spill: EventSpill | undefined;

  constructor(source: Source, options: ExportOptions) {
    this.#source = source;
    this.#options = options;
    try {
      for (const name of options.tables) this.#open(name);
      this.#spill = new EventSpill(join(options.out, 'captures', `${source.capture}.events`));
    } catch (error) {
      this.discard();
      throw error;
    }
  }

  #open<Name extends TableName>(name: Name): void {
    const { out, createdBy, rowGroupRows } = this.#options;
    mkdirSync(join(out, name), { recursive: true });
    const path = fileOf(out, name, this.#source.capture);
    const file = new TableFile<Rows[Name]>(path, TABLES[name], this.#source, createdBy, rowGroupRows);
    Object.assign(this.#files, { [name]: file });
  }

  add<Name extends TableName>(name: Name, row: Rows[Name]): void {
    const file: TableFile<Rows[Name]> | undefined = this.#files[name];
    if (file !== undefined) written(() => file.add(row));
  }

  /** Keeps an event until the end. */
  keep(event: TransportEvent): void {
    written(() => this.#spill?.add(event));
  }

  /** Adds all events that were kept, as they are `reported`. Returns how many rows that makes. */
  addEvents(start: CaptureTime, reported: (event: TransportEvent) => readonly TransportEvent[]): number {
    let rows = 0;
    written(() => {
      for (const kept of this.#spill?.all() ?? [])
        for (const event of reported(kept)) {
          rows++;
          this.#files.events?.add({ event, start });
        }
    });
    return rows;
  }

  /** The rest of what is known at the end only. */
  addAnalysis(
    { limits, conversations, findings }: Analysis,
    interfaces: readonly CaptureInterface[],
    start: CaptureTime | undefined,
  ): void {
    for (const [index, about] of interfaces.entries()) this.add('interfaces', { index, about });
    for (const conversation of start === undefined ? [] : conversations) {
      this.add('conversation_ends', { conversation, side: 0, start: start as CaptureTime });
      this.add('conversation_ends', { conversation, side: 1, start: start as CaptureTime });
    }
    for (const [i, limit] of limits.entries()) {
      this.add('limits', { limit, number: i + 1 });
      for (const of of conversationsOf(limit, conversations)) this.add('limit_conversations', { limit: i + 1, of });
    }
    for (const [i, finding] of findings.entries()) {
      const number = i + 1;
      this.add('findings', { finding, number });
      for (const frame of finding.frames) this.add('finding_packets', { finding: number, of: frame });
      for (const id of finding.conversations) this.add('finding_conversations', { finding: number, of: id });
    }
  }

  publish(wholeOf: WholeOf): void {
    written(() => {
      this.#spill?.discard();
      for (const file of this.#all()) file.finish(wholeOf);
      // Its old row must not vouch for what is replaced now.
      rmSync(fileOf(this.#options.out, 'captures', this.#source.capture), { force: true });
      for (const [name, file] of Object.entries(this.#files)) if (name !== 'captures') file.publish();
      this.#files.captures?.publish();
    });
  }

  discard(): void {
    this.#spill?.discard();
    for (const file of this.#all()) file.discard();
  }

  #all(): Pick<TableFile<never>, 'finish' | 'discard'>[] {
    return Object.values(this.#files);
  }
}

function fileOf(out: string, table: TableName, capture: string): string {
  return join(out, table, `${capture}.parquet`);
}

/** Tells errors of the system in writing from those in reading, which are defects of the capture. */
function written<T>(write: () => T): T {
  try {
    return write();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && 'syscall' in error)) throw error;
    throw new ExportError(error.message, { cause: error });
  }
}
