/**
 * `roce export`: packets, conversations, events and findings of captures as Parquet, for DuckDB, Spark, ClickHouse.
 *
 * Owns the command line and the exit code: 0 all captures were exported to their ends, 1 the tables cannot be written,
 * 2 a capture cannot be read to its end or the command line is wrong. What was read before a defect is exported.
 */

import { accessSync, constants } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';
import { defined, RoceError } from 'rocev2/packets';
import { parseJobs } from '../analyze/read-capture.ts';
import { fileErrorText } from '../file-error.ts';
import { packageVersion } from '../package-version.ts';
import type { ProgressTerminal } from '../progress-line.ts';
import { grouped } from '../table.ts';
import { visible } from '../visible-text.ts';
import { type HostFlags, type Source, sourcesOf } from './capture-name.ts';
import { ExportError, type ExportOptions, existingFiles, exportCapture } from './export.ts';
import { TABLE_NAMES, type TableName } from './tables.ts';

/** Standard streams, of the process or of a test. */
export interface ExportStreams {
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: ProgressTerminal;
}

/** The options of the command line. */
export interface ExportFlags extends HostFlags {
  readonly out: string;
  readonly tables?: readonly TableName[];
  readonly overwrite?: boolean;
  readonly interfacesTogether?: boolean;
  readonly icrc: boolean;
  readonly jobs?: number;
}

export function exportCommand(): Command {
  const command = new Command('export')
    .description('packets, conversations, events and findings of captures as Parquet, for DuckDB, Spark, ClickHouse')
    .argument('<files...>', 'capture files (pcap or pcapng), - for standard input')
    .requiredOption('-o, --out <folder>', 'where the tables go: FOLDER/TABLE/CAPTURE.parquet; may have those of others')
    .option('--host <name>', 'the host that all these captures are from')
    .option('--host-from <pattern>', "where a file's path has its host: regular expression with a group", parsePattern)
    .option('--tables <names>', `only these, with commas between: ${TABLE_NAMES.join(', ')}`, parseTables)
    .option('--overwrite', 'replace tables of captures with the same names')
    .option('--interfaces-together', 'all interfaces of a capture are one place, such as the members of a LAG')
    .option('--no-icrc', 'do not verify ICRCs')
    .option('--jobs <n>', 'threads: 1, or 2 for a large file (default: by its size)', parseJobs)
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_BAD_INPUT))
    .action(async (files: string[], flags: ExportFlags) => {
      if (flags.host !== undefined && flags.hostFrom !== undefined)
        command.error('error: either --host or --host-from says where captures are from');
      process.exitCode = await exportFiles(files, flags, process);
    });
  return command;
}

/** Exports one capture after the other; resolves to the exit code. */
export async function exportFiles(
  files: readonly string[],
  flags: ExportFlags,
  streams: ExportStreams,
): Promise<number> {
  const complain = (text: string): void => void streams.stderr.write(visible(`roce export: ${text}\n`));
  try {
    const options = optionsOf(flags);
    const sources = sourcesOf(files, flags);
    refuseUnreadable(files);
    if (flags.overwrite !== true) refuseOverwriting(sources, options);
    let code = 0;
    for (const source of sources) {
      const { packets, damage } = await exportCapture(source, options, streams);
      if (damage === undefined || packets > 0)
        streams.stdout.write(visible(`${source.file}: ${grouped(packets)} packets as ${source.capture}\n`));
      if (damage === undefined) continue;
      // The message of the system may name the file already.
      complain('path' in damage ? damage.message : `${source.file}: ${fileErrorText(damage)}`);
      code = EXIT_BAD_INPUT;
    }
    return code;
  } catch (error) {
    if (error instanceof ExportError) {
      complain(`${error.message}; nothing is left of the capture at hand`);
      return EXIT_CANNOT_WRITE;
    }
    if (!(error instanceof RoceError)) throw error;
    complain(error.message);
    return EXIT_BAD_INPUT;
  }
}

function optionsOf({ out, tables = TABLE_NAMES, icrc, jobs, interfacesTogether }: ExportFlags): ExportOptions {
  const all = tables.includes('captures') ? tables : (['captures', ...tables] as const);
  return { out, tables: all, icrc, createdBy: `rocev2 ${packageVersion()}`, ...defined({ jobs, interfacesTogether }) };
}

/** Before hours of reading. @throws RoceError ERR_ROCE_ARGUMENT */
function refuseUnreadable(files: readonly string[]): void {
  for (const file of files) {
    if (file === '-') continue;
    try {
      accessSync(file, constants.R_OK);
    } catch (error) {
      throw new RoceError('ERR_ROCE_ARGUMENT', error instanceof Error ? error.message : file, { cause: error });
    }
  }
}

/** The same. @throws RoceError ERR_ROCE_ARGUMENT */
function refuseOverwriting(sources: readonly Source[], options: ExportOptions): void {
  for (const source of sources) {
    const [path] = existingFiles(source, options);
    if (path === undefined) continue;
    throw new RoceError('ERR_ROCE_ARGUMENT', `${path} is there already: --overwrite replaces it`);
  }
}

function parsePattern(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch {
    throw new InvalidArgumentError('a regular expression is expected.');
  }
}

function parseTables(text: string): TableName[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !isTable(name));
  if (unknown !== undefined) throw new InvalidArgumentError(`there is no table '${unknown}'.`);
  return TABLE_NAMES.filter((name) => names.includes(name));
}

function isTable(name: string): name is TableName {
  return TABLE_NAMES.some((table) => table === name);
}

const EXIT_CANNOT_WRITE = 1;
const EXIT_BAD_INPUT = 2;
