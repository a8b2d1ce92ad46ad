/**
 * docs/interop.md: what it says, how it is written and read back. Owns its layout. A text of this layout has neither
 * times nor counts that differ from run to run, so that it changes when a verdict or a version does.
 */
import { KERNELS, type KernelLabel } from '../lab/recipe.ts';
import { type InteropCell, ROLES } from './cell.ts';
import { caseName, type MatrixEntry } from './experiments.ts';
import type { CellVerdict, MatrixRow } from './matrix-run.ts';

export interface InteropFile {
  /** Versions of the programs, the same for all kernels: rdma-core, perftest, tshark. */
  readonly versions: Readonly<Record<string, string>>;
  readonly kernels: ReadonlyMap<KernelLabel, KernelRows>;
}

export interface KernelRows {
  /** What `uname -r` prints. */
  readonly release: string;
  /** By the name of the case. */
  readonly rows: ReadonlyMap<string, FileRow>;
}

export type FileRow = Pick<MatrixRow, 'verdict' | 'capture' | 'note'>;

/**
 * The file with the rows of a run put in: a run replaces what it ran, the rest stays. Rows of another release of the
 * kernel, or of other programs, do not stay: they would be reported under wrong versions.
 */
export function mergeRun(before: InteropFile | undefined, run: InteropFile): InteropFile {
  const sameVersions = JSON.stringify(before?.versions) === JSON.stringify(run.versions);
  const kernels = new Map(sameVersions ? before?.kernels : []);
  for (const [kernel, { release, rows }] of run.kernels) {
    const old = kernels.get(kernel);
    kernels.set(kernel, { release, rows: new Map([...(old?.release === release ? old.rows : []), ...rows]) });
  }
  return { versions: run.versions, kernels };
}

/** Rows by the names of their cases. */
export function rowsByName(rows: readonly MatrixRow[]): Map<string, FileRow> {
  return new Map(rows.map(({ entry, verdict, capture, note }) => [caseName(entry), { verdict, capture, note }]));
}

/** The text of the file: what is known of these cells, in their order. */
export function formatInterop(file: InteropFile, cells: readonly InteropCell[]): string {
  const kernels = KERNELS.flatMap((label) => {
    const rows = file.kernels.get(label);
    return rows === undefined ? [] : [{ label, ...rows }];
  });
  const entries = cells.flatMap((cell) => ROLES.map((role): MatrixEntry => ({ cell, role })));
  return [
    ...INTRODUCTION,
    '',
    '## Versions',
    '',
    '| what | version |',
    '| --- | --- |',
    ...Object.entries(file.versions).map(([name, version]) => `| ${name} | ${version} |`),
    ...kernels.map(({ label, release }) => `| Linux ${label} | ${release} |`),
    '',
    '## In short',
    '',
    `| tool | ${kernels.flatMap(({ label }) => ROLES.map((role) => `${label}, ${role}`)).join(' | ')} |`,
    `| --- |${' --- |'.repeat(kernels.length * ROLES.length)}`,
    ...[...new Set(cells.map(({ tool }) => tool))].map((tool) => {
      const counts = kernels.flatMap(({ rows }) =>
        ROLES.map((role) =>
          summary(
            entries.filter((one) => one.cell.tool === tool && one.role === role),
            rows,
          ),
        ),
      );
      return `| ${tool} | ${counts.join(' | ')} |`;
    }),
    '',
    ...kernels.flatMap(({ label, rows }) => [
      `## Linux ${label}`,
      '',
      '| tool | options | IP | path MTU | guest is | verdict | capture | note |',
      '| --- | --- | --- | --- | --- | --- | --- | --- |',
      ...entries.flatMap((entry) => rowLine(entry, rows.get(caseName(entry)))),
      '',
    ]),
  ].join('\n');
}

/**
 * Reads what `formatInterop` has written; undefined for any other text. The rows of cells that are no more are left
 * out.
 */
export function parseInterop(text: string, cells: readonly InteropCell[]): InteropFile | undefined {
  if (!text.startsWith(INTRODUCTION[0] ?? '')) return undefined;
  const names = new Map(
    cells.flatMap((cell) => ROLES.map((role) => [keyOf({ cell, role }), caseName({ cell, role })] as const)),
  );
  const versions: Record<string, string> = {};
  const releases = new Map<KernelLabel, string>();
  const rows = new Map<KernelLabel, Map<string, FileRow>>();
  let section = '';
  for (const line of text.split('\n')) {
    if (line.startsWith('## ')) section = line.slice(3);
    const fields = fieldsOf(line);
    const kernel = KERNELS.find((label) => section === `Linux ${label}`);
    const [name = '', version = ''] = fields;
    const label = KERNELS.find((one) => name === `Linux ${one}`);
    if (section === 'Versions' && fields.length === 2) {
      if (label !== undefined) releases.set(label, version);
      else if (name !== 'what' && name !== '---') versions[name] = version;
    }
    const caseOf = names.get(fields.slice(0, 5).join('|'));
    const verdict = VERDICTS.find((word) => word === unmarked(fields[5] ?? ''));
    if (kernel === undefined || caseOf === undefined || verdict === undefined) continue;
    const known = rows.get(kernel) ?? new Map<string, FileRow>();
    known.set(caseOf, { verdict, capture: unmarked(fields[6] ?? ''), note: fields[7] ?? '' });
    rows.set(kernel, known);
  }
  const kernels = new Map(
    [...releases].map(([label, release]) => [label, { release, rows: rows.get(label) ?? new Map() }]),
  );
  return { versions, kernels };
}

function rowLine(entry: MatrixEntry, row: FileRow | undefined): string[] {
  if (row === undefined) return [];
  const { verdict, capture, note } = row;
  const told = verdict === 'pass' || verdict === 'n/a' ? verdict : `**${verdict}**`;
  const where = capture === '' ? '' : `\`${capture}\``;
  return [`| ${[...labelsOf(entry), told, where, note.replaceAll('|', '/')].join(' | ')} |`];
}

/** The key of an entry, as the file has it. */
function labelsOf({ cell, role }: MatrixEntry): string[] {
  const { tool, options, ip, pathMtu } = cell;
  return [tool, options === '' ? '' : `\`${options}\``, ip, String(pathMtu), role];
}

function keyOf(entry: MatrixEntry): string {
  return labelsOf(entry).join('|');
}

function fieldsOf(line: string): string[] {
  if (!line.startsWith('|')) return [];
  return line
    .slice(1, line.lastIndexOf('|'))
    .split('|')
    .map((field) => field.trim());
}

function unmarked(field: string): string {
  return field.replace(/^(?:\*\*|`)(.*?)(?:\*\*|`)$/, '$1');
}

/** `12`, or `10, 2 rxe`. */
function summary(entries: readonly MatrixEntry[], rows: ReadonlyMap<string, FileRow>): string {
  const found = entries.flatMap((entry) => rows.get(caseName(entry))?.verdict ?? []);
  const counts = VERDICTS.flatMap((verdict) => {
    const count = found.filter((one) => one === verdict).length;
    if (count === 0) return [];
    return [verdict === 'pass' ? String(count) : `${count} ${verdict}`];
  });
  return counts.join(', ');
}

const VERDICTS: readonly CellVerdict[] = ['pass', 'fail', 'rxe', 'n/a'];

const INTRODUCTION: readonly string[] = [
  '# The interop matrix',
  '',
  "Written by `npm run interop -- --all`, which boots Linux guests whose RDMA is the kernel's rdma_rxe and lets unmodified Debian programs",
  'in them speak to programs of this project, over a wire that is captured. `npm test` runs a part of it and fails where this page is not true',
  'any more. A run with fewer cells replaces those; versions other than these replace all.',
  '',
  '- **guest is**: which end of the conversation the unmodified program was.',
  '- **pass**: both programs ended well and printed what they print after success, the wire showed what it has to show, every packet has a right',
  '  ICRC by our own parser, and tshark finds as many RoCE packets and none malformed (without its dissector of RPC over RDMA, which',
  '  takes every short SEND for one).',
  '- **rxe**: it failed, and the same command lines failed between two guests as well; the capture named is that of the two guests.',
  '- **fail**: it failed here alone. There must be none.',
  '- **n/a**: the unmodified program has no such thing; the note says why.',
  '- **capture**: the folder, below `interop-out/KERNEL/`, of `wire.pcapng` and of what both programs printed.',
];
