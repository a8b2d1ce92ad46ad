/**
 * Runs tshark, the dissector that this project is verified with.
 *
 * Owns the command line, the parsing of its output and the question whether it is there. Never interprets a field.
 * Source: manual page of tshark 4.0; `reference/analyzer.md` of the project says what tshark knows of RoCE and what
 * not.
 */

import { spawn, spawnSync } from 'node:child_process';

/** One row of `tsharkRows`: the values of each field asked for, in the order of the packet; none when it is absent. */
export type TsharkRow = ReadonlyMap<string, readonly string[]>;

export interface TsharkOptions {
  /** Display filter, such as `infiniband`. */
  readonly filter?: string;
}

/** Whether tshark can be run; the reason is a sentence for the message of a skipped test. */
export function tsharkAvailable(): { readonly available: boolean; readonly version: string; readonly reason: string } {
  const run = spawnSync('tshark', ['--version'], { encoding: 'utf8' });
  const version = /TShark \(Wireshark\) (\S+?)\.? /.exec(run.stdout ?? '')?.[1] ?? '';
  if (run.error !== undefined)
    return { available: false, version, reason: `tshark cannot be run: ${run.error.message}` };
  if (run.status !== 0) return { available: false, version, reason: `tshark --version exits with ${run.status}` };
  return { available: true, version, reason: '' };
}

/**
 * One row a packet of `file` that passes the filter. Numbers come as tshark prints them (decimal or 0x...): see
 * `tsharkNumber`. Throws when tshark fails, with its own words.
 */
export async function tsharkRows(
  file: string,
  fields: readonly string[],
  options: TsharkOptions = {},
): Promise<TsharkRow[]> {
  const rows: TsharkRow[] = [];
  await eachTsharkRow(file, fields, options, (columns) => {
    rows.push(new Map(fields.map((field, index) => [field, valuesOf(columns[index] ?? '')])));
  });
  return rows;
}

/**
 * The same for many packets, without keeping them: `take` gets the text of each field, in their order, empty where it
 * is absent.
 */
export async function eachTsharkRow(
  file: string,
  fields: readonly string[],
  options: TsharkOptions,
  take: (columns: readonly string[]) => void,
): Promise<void> {
  let rest = '';
  const args = [
    ...['-r', file, ...STEADY_OPTIONS, ...filterOptions(options)],
    // Control characters that no field contains: a value may hold a comma or a tab.
    ...[
      '-T',
      'fields',
      '-E',
      `separator=${FIELD_SEPARATOR}`,
      '-E',
      `aggregator=${VALUE_SEPARATOR}`,
      '-E',
      'occurrence=a',
    ],
    ...fields.flatMap((field) => ['-e', field]),
  ];
  await run(args, (text) => {
    const rows = (rest + text).split('\n');
    rest = rows.pop() ?? '';
    for (const row of rows) take(row.split(FIELD_SEPARATOR));
  });
}

/** The packets of `file` as `tshark -T json` gives them, one object for each. */
export async function tsharkJson(file: string, options: TsharkOptions = {}): Promise<unknown[]> {
  const args = ['-r', file, ...STEADY_OPTIONS, ...filterOptions(options), '-T', 'json', '--no-duplicate-keys'];
  const pieces: string[] = [];
  await run(args, (text) => pieces.push(text));
  const packets: unknown = JSON.parse(pieces.join(''));
  if (!Array.isArray(packets)) throw new Error('tshark -T json did not give an array');
  return packets;
}

/** The names of all fields this tshark knows whose name starts with `prefix`. */
export function tsharkFieldNames(prefix: string): Set<string> {
  const run = spawnSync('tshark', ['-G', 'fields'], { encoding: 'utf8', maxBuffer: 512 * 1024 * 1024 });
  const names = run.stdout.split('\n').map((line) => line.split('\t')[2] ?? '');
  return new Set(names.filter((name) => name.startsWith(prefix)));
}

/** A field's value as a number; `True` and `False`, as newer versions print flags, are 1 and 0. */
export function tsharkNumber(value: string): bigint {
  if (value === 'True') return 1n;
  if (value === 'False') return 0n;
  return BigInt(value);
}

function filterOptions({ filter }: TsharkOptions): string[] {
  return filter === undefined ? [] : ['-Y', filter];
}

function valuesOf(column: string): string[] {
  return column === '' ? [] : column.split(VALUE_SEPARATOR);
}

/** Resolves when tshark has ended well; `take` gets pieces of its output. */
function run(args: readonly string[], take: (text: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('tshark', args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const complaints: Buffer[] = [];
    child.stdout.setEncoding('utf8').on('data', take);
    child.stderr.on('data', (chunk: Buffer) => complaints.push(chunk));
    child.on('error', reject);
    child.on('close', (status, signal) => {
      if (status === 0) resolve();
      // Run as root it warns on stderr and succeeds: only the status decides.
      else
        reject(
          new Error(`tshark ended with ${signal ?? status}: ${Buffer.concat(complaints).toString('utf8').trim()}`),
        );
    });
  });
}

// No name look-ups, the same whatever the user has configured. Payload is not guessed at: random bytes look like some
// protocol now and then, and a guess that fails is reported as a malformed packet.
const STEADY_OPTIONS = ['-n', '--disable-protocol', 'rpcordma', '-o', 'infiniband.identify_payload:FALSE'];
const FIELD_SEPARATOR = '\x01';
const VALUE_SEPARATOR = '\x02';
