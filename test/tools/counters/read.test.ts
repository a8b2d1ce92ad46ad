/**
 * Goal: which files of a folder are one snapshot, of which host, and what is too much. Method: folders as engineers
 * collect them, written to a temporary place.
 */
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { analyzeCounters } from '../../../tools/counters/index.ts';
import { readSnapshots } from '../../../tools/counters/read.ts';
import { useFolder } from './folder.ts';
import { snapshot } from './grown.ts';

const folder = useFolder();

const LINE = 'mlx5_0/ports/1/counters/link_downed:1\n';
const TREE = 'sys/class/infiniband/mlx5_0/ports/1/counters/link_downed';

describe('a folder', () => {
  it.each<[string, readonly string[], readonly (readonly [string, string])[]]>([
    [
      'of one host with stages is named as the host',
      ['n1/after.txt', 'n1/before.txt'],
      [
        ['n1', 'after.txt'],
        ['n1', 'before.txt'],
      ],
    ],
    [
      'of hosts has their names',
      ['all/n1/x.txt', 'all/n2/x.txt'],
      [
        ['all/n1', ''],
        ['all/n2', ''],
      ],
    ],
    [
      'of trees, with the stage below the host',
      [`all/n1/before/${TREE}`, `all/n1/after/${TREE}`],
      [
        ['all/n1', 'after'],
        ['all/n1', 'before'],
      ],
    ],
    ['with a number for a name is that of a host, not of a stage', ['all/12/x.txt'], [['all/12', '']]],
    [
      'whose name only begins with a digit is a stage',
      ['n1/1-idle.txt', 'n1/2-load.txt'],
      [
        ['n1', '1-idle.txt'],
        ['n1', '2-load.txt'],
      ],
    ],
  ])('%s', (_, paths, expected) => {
    for (const path of paths) folder.put(path, path.includes('/sys/') ? '1\n' : LINE);
    const found = readSnapshots(paths.every((path) => path.startsWith('n1/')) ? join(folder.root, 'n1') : folder.root);
    expect(found.map(({ host, stage }) => [host, stage])).toEqual(expected);
  });

  it('with files that have headers: each is a snapshot of its own', () => {
    folder.put('a.txt', snapshot('n1', 0, { link_downed: 1 }));
    folder.put('b.txt', snapshot('n1', 60, { link_downed: 2 }));
    folder.put('notes.txt', 'nothing here\n');
    expect(readSnapshots(folder.root).map(({ host, timeMs }) => [host, timeMs])).toEqual([
      ['n1', Date.UTC(2026, 0, 1)],
      ['n1', Date.UTC(2026, 0, 1, 0, 1)],
    ]);
  });

  it('twelve deep is read, deeper is not', () => {
    folder.put(`${'d/'.repeat(11)}x.txt`, LINE);
    folder.put(`${'d/'.repeat(12)}y.txt`, LINE);
    expect(readSnapshots(folder.root).map(({ host }) => host)).toEqual(['d/d/d/d/d/d/d/d/d/d/d']);
  });
});

it('a file of more than 16 MiB has no counters', () => {
  const path = folder.put('huge.txt', LINE);
  truncateSync(path, 16 * 1024 * 1024 + 1);
  expect(() => readSnapshots(path)).toThrow(/huge\.txt: 16777217 bytes are too many for counters$/);
});

it('a file named before or after is a stage by itself', () => {
  const stages = ['before.txt', 'after.txt', 'n1.txt'].map((name) => readSnapshots(folder.put(name, LINE))[0]?.stage);
  expect(stages).toEqual(['before.txt', 'after.txt', '']);
});

it('JSON has maps as objects', () => {
  const path = folder.put(
    'n1.txt',
    snapshot('n1', 0, { link_downed: 0 }) + snapshot('n1', 60, { link_downed: 2, new: 1 }),
  );
  const { ports, hosts } = JSON.parse(analyzeCounters([path], { json: true }).text);
  expect(hosts).toEqual(['n1']);
  expect(ports).toMatchObject([{ port: 'mlx5_0/1', figures: { 'link-down': { value: 2, names: ['link_downed'] } } }]);
});
