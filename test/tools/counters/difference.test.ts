/**
 * Goal: which snapshots are compared, in what order, and what grew between them. Method: snapshots as texts, where the
 * order, a reset or a wrap is in dispute.
 */
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../tools/counters/diagnose.ts';
import { snapshotsOf } from '../../../tools/counters/read.ts';
import { snapshot } from './grown.ts';

/** A text without a header, from a file whose name has a stage. */
function staged(stage: string, downs: number): ReturnType<typeof snapshotsOf> {
  return snapshotsOf(`mlx5_0/ports/1/counters/link_downed:${downs}\n`, `${stage}.txt`, 'n1', stage);
}

describe('the first and the last', () => {
  const grew = (...stages: readonly string[]): number | undefined =>
    diagnose(stages.flatMap((stage, at) => staged(stage, at * at))).ports[0]?.figures.get('link-down')?.value;

  it.each([
    ['as they were given, where nothing says it', ['', '', ''], 4],
    ['before is first and after last, whatever is between', ['before', 'middle', 'after'], 4],
    ['numbers are numbers', ['2', '9', '10'], 4],
    ['numbers of files, with zeros', ['0001-start', '0002', '0010'], 4],
  ])('%s', (_, stages, value) => {
    expect(grew(...stages)).toBe(value);
  });

  it.each([
    ['after', 'before'],
    ['after-1', 'middle'],
    ['middle', 'Before'],
    ['10-load', '9-load'],
  ])('%s is later than %s', (later, earlier) => {
    const { ports, remarks } = diagnose([...staged(later, 7), ...staged(earlier, 2)]);
    expect(ports[0]?.figures.get('link-down')?.value).toBe(5);
    expect(remarks).toEqual(['n1 has no dates, or dates out of order: there are no rates.']);
  });

  it('dates come before names', () => {
    const text = (second: number, downs: number): string => snapshot('n1', second, { link_downed: downs });
    const { ports } = diagnose([
      ...snapshotsOf(text(60, 3), 'before.txt', '', 'before'),
      ...snapshotsOf(text(0, 1), 'after.txt', '', 'after'),
    ]);
    expect(ports[0]).toMatchObject({ seconds: 60 });
    expect(ports[0]?.figures.get('link-down')?.value).toBe(2);
  });

  it('two of the same second have no rate', () => {
    const text = snapshot('n1', 0, { link_downed: 1 });
    const { ports, remarks } = diagnose(snapshotsOf(text + text, 'test'));
    expect(ports[0]?.seconds).toBeUndefined();
    expect(remarks).toEqual(['n1 has no dates, or dates out of order: there are no rates.']);
  });

  it('hosts without a name', () => {
    const plain = (): ReturnType<typeof snapshotsOf> => snapshotsOf('mlx5_0/ports/1/counters/link_downed:1\n', 'a');
    expect(diagnose([...plain(), ...plain()]).remarks).toEqual([
      'The snapshots have no dates, or dates out of order: there are no rates.',
    ]);
    expect(diagnose([...plain(), ...staged('before', 0), ...staged('after', 0)]).remarks).toContain(
      'One snapshot without a host is there once only: not compared.',
    );
  });
});

describe('a counter that fell', () => {
  const between = (name: string, before: number, after: number): [number | undefined, string] => {
    const text = snapshot('n1', 0, { [name]: before }) + snapshot('n1', 60, { [name]: after });
    const { ports, remarks } = diagnose(snapshotsOf(text, 'test'));
    const figure = [...(ports[0]?.figures.values() ?? [])][0]?.value ?? ports[0]?.unknown.get(name);
    return [figure, /passed 2\^32|fell: reset/.exec(remarks.join(' '))?.[0] ?? ''];
  };

  it.each<[string, string, number, number, [number, string]]>([
    ['of 32 bits, from its upper half, has wrapped', 'packet_seq_err', 2 ** 31, 5, [2 ** 31 + 5, 'passed 2^32']],
    ['of 32 bits, from its lower half, was reset', 'packet_seq_err', 2 ** 31 - 1, 5, [5, 'fell: reset']],
    ['of 64 bits was reset', 'rdma_rx_packets', 3e9, 5, [5, 'fell: reset']],
    ['that nobody knows may have 32 bits', 'made_up', 2 ** 32 - 1, 5, [6, 'passed 2^32']],
    ['from more than 32 bits was reset', 'made_up', 2 ** 32, 5, [5, 'fell: reset']],
  ])('%s', (_, name, before, after, expected) => {
    expect(between(name, before, after)).toEqual(expected);
  });

  it('three of them are named', () => {
    const all = (value: number): Record<string, number> => ({ a: value, b: value, c: value, d: value, e: value });
    const remarksOf = (...names: readonly string[]): readonly string[] => {
      const only = (value: number): Record<string, number> =>
        Object.fromEntries(Object.entries(all(value)).filter(([name]) => names.includes(name)));
      return diagnose(snapshotsOf(snapshot('n1', 0, only(9)) + snapshot('n1', 60, only(1)), 'test')).remarks;
    };
    expect(remarksOf('a', 'b', 'c')[0]).toMatch(/^n1 mlx5_0\/1: a, b, c fell: reset/);
    expect(remarksOf('a', 'b', 'c', 'd', 'e')[0]).toMatch(/^n1 mlx5_0\/1: a, b, c and 2 more fell: reset/);
  });
});

describe('what grew', () => {
  it('what no table knows is kept by its name, if it grew', () => {
    const text =
      snapshot('n1', 0, { new_counter: 1, old_counter: 1 }) + snapshot('n1', 60, { new_counter: 4, old_counter: 1 });
    const { ports } = diagnose(snapshotsOf(text, 'test'));
    expect(Object.fromEntries(ports[0]?.unknown ?? [])).toEqual({ new_counter: 3 });
  });

  it('a counter of the later snapshot only has not grown: what it had before is not known', () => {
    const text = snapshot('n1', 0, { link_downed: 1 }) + snapshot('n1', 60, { link_downed: 1, out_of_sequence: 70 });
    const { ports, findings } = diagnose(snapshotsOf(text, 'test'));
    expect(ports[0]?.figures.get('out-of-sequence')?.value).toBe(0);
    expect(findings).toEqual([]);
  });

  it('two names of one priority count the same, priorities add up', () => {
    const values = { rx_prio3_discards: 9, rx_prio3_cong_discard: 7, rx_prio4_discards: 2, rx_prio4_cong_discard: 4 };
    const zero = Object.fromEntries(Object.keys(values).map((name) => [name, 0]));
    const { ports } = diagnose(snapshotsOf(snapshot('n1', 0, zero) + snapshot('n1', 60, values), 'test'));
    const figure = ports[0]?.figures.get('rx-discard');
    expect(figure?.value).toBe(13);
    expect(Object.fromEntries(figure?.priorities ?? [])).toEqual({ 3: 9, 4: 4 });
    expect(figure?.names).toEqual(Object.keys(values));
  });

  it('settings are those of the later snapshot, where it has them', () => {
    const text = (second: number, trust: 'dscp' | 'pcp', pfc?: readonly number[]): string =>
      snapshot('n1', second, { link_downed: 0 }, pfc === undefined ? { trust } : { trust, pfc });
    const { ports } = diagnose(snapshotsOf(text(0, 'pcp', [3]) + text(60, 'dscp'), 'test'));
    expect(ports[0]?.settings).toEqual({ trust: 'dscp', pfc: [3] });
  });
});

it('lines that were not read are told with the file and the first of them', () => {
  const read = (lines: string): readonly string[] =>
    diagnose(snapshotsOf(`${lines}mlx5_0/ports/1/counters/link_downed:0\n`, 'n1.txt')).remarks;
  expect(read('what is this?\n')[0]).toBe('n1.txt: 1 line was not read, such as "what is this?".');
  expect(read('what is this?\nand that?\n')[0]).toBe('n1.txt: 2 lines were not read, such as "what is this?".');
});
