/**
 * Goal: docs/interop.md can be read back, and says what is true of one set of versions. Method: write, read, merge
 * small files.
 */
import { describe, expect, it } from 'vitest';
import type { InteropCell } from '../../../tools/interop/cell.ts';
import {
  type FileRow,
  formatInterop,
  type InteropFile,
  mergeRun,
  parseInterop,
} from '../../../tools/interop/interop-file.ts';

const cell = (name: string, tool: string, options: string): InteropCell => ({
  name,
  tool,
  options,
  ip: 'IPv4',
  interfaceMtu: 1024,
  pathMtu: 1024,
  inCi: true,
  server: () => ({ command: tool }),
  client: () => ({ command: tool }),
});
const CELLS = [cell('one', 'rping', '-C 5'), cell('two', 'udpong', ''), cell('three', 'udpong', '-T a')];
const pass: FileRow = { verdict: 'pass', capture: 'mtu1024/one-server', note: '' };
const limit: FileRow = { verdict: 'rxe', capture: 'pairs-mtu1024/two', note: 'no such thing' };
const none: FileRow = { verdict: 'n/a', capture: '', note: 'a | in the reason' };
const file = (release: string, rows: Readonly<Record<string, FileRow>>, perftest = '1'): InteropFile => ({
  versions: { perftest },
  kernels: new Map([['6.12', { release, rows: new Map(Object.entries(rows)) }]]),
});

describe('docs/interop.md', () => {
  const text = formatInterop(file('6.12.1', { 'one-server': pass, 'two-client': limit, 'three-server': none }), CELLS);

  it('has a row for all that is known, and a table of counts', () => {
    expect(text).toContain('| rping | `-C 5` | IPv4 | 1024 | server | pass | `mtu1024/one-server` |  |');
    expect(text).toContain('| udpong |  | IPv4 | 1024 | client | **rxe** | `pairs-mtu1024/two` | no such thing |');
    expect(text).toContain('| udpong | 1 n/a | 1 rxe |');
    expect(text).not.toContain('Linux 6.1 ');
  });

  it('is read back as it was written', () => {
    const read = parseInterop(text, CELLS);
    expect(read?.versions).toEqual({ perftest: '1' });
    expect(read?.kernels.get('6.12')?.rows.get('two-client')).toEqual(limit);
    expect(read === undefined ? '' : formatInterop(read, CELLS)).toBe(text);
  });

  it('is not read from another text', () => {
    expect(parseInterop('# Something else\n', CELLS)).toBeUndefined();
  });
});

describe('a run', () => {
  const before = file('6.12.1', { 'one-server': pass, 'two-client': limit });

  it('replaces what it ran and leaves the rest', () => {
    const merged = mergeRun(before, file('6.12.1', { 'two-client': pass }));
    expect([...(merged.kernels.get('6.12')?.rows ?? [])]).toEqual([
      ['one-server', pass],
      ['two-client', pass],
    ]);
  });

  it.each([
    ['another release of the kernel', file('6.12.2', { 'two-client': pass })],
    ['other programs', file('6.12.1', { 'two-client': pass }, '2')],
  ])('leaves nothing of %s', (_, run) => {
    expect([...(mergeRun(before, run).kernels.get('6.12')?.rows.keys() ?? [])]).toEqual(['two-client']);
  });

  it('with one kernel leaves the others', () => {
    const sid: InteropFile = {
      versions: { perftest: '1' },
      kernels: new Map([['sid', { release: '7', rows: new Map() }]]),
    };
    expect([...mergeRun(before, sid).kernels.keys()]).toEqual(['6.12', 'sid']);
  });
});
