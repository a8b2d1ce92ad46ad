/**
 * Goal: a table file gives back what was put in, whatever it is, and late columns have what is known in the end. Method:
 * random rows of a made-up table, in row groups of random length, are read with hyparquet.
 */
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { afterAll, expect, it } from 'vitest';
import { Columns, epochNs, type Table } from '../../../tools/export/schema.ts';
import { TableFile } from '../../../tools/export/table-file.ts';

const scratch = mkdtempSync(join(tmpdir(), 'roce-table-'));
afterAll(() => rmSync(scratch, { recursive: true }));
const path = join(scratch, 'made-up.parquet');

interface Row {
  readonly text: string | undefined;
  readonly small: number | undefined;
  readonly large: bigint | undefined;
  readonly yes: boolean;
  readonly id: number | undefined;
  readonly end: 0 | 1;
}

const c = new Columns<Row>();
const TABLE: Table<Row> = {
  name: 'made_up',
  about: '',
  key: [],
  columns: [
    ...c.origin(),
    c.text('text', '', ({ text }) => text),
    c.int32('small', '', ({ small }) => small),
    c.int64('large', '', ({ large }) => large),
    c.flag('yes', '', ({ yes }) => yes),
    c.int32('end', '', ({ id, end }) => (id === undefined ? undefined : end), 'end'),
    c.int32('id', '', ({ id }) => id, 'conversation'),
  ],
};

const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const optional = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });
const rows: fc.Arbitrary<Row[]> = fc.array(
  fc.record({
    text: optional(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', 'a', '10.0.0.1'))),
    small: optional(int32),
    large: optional(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
    yes: fc.boolean(),
    id: optional(fc.integer({ min: 1, max: 5 })),
    end: fc.constantFrom(0, 1),
  }),
  { maxLength: 60 },
);
/** Which conversations turn out to be parts of others. */
const wholes = fc.dictionary(
  fc.constantFrom('2', '3', '5'),
  fc.record({ id: fc.constantFrom(1, 4), crosswise: fc.boolean() }),
);

it('gives back any rows in row groups of any length, conversations and ends as they are in the end', async () => {
  await fc.assert(
    fc.asyncProperty(
      rows,
      wholes,
      fc.integer({ min: 1, max: 70 }),
      optional(fc.constant('h')),
      async (all, parts, group, host) => {
        const file = new TableFile(path, TABLE, { capture: 'c', host }, 'test', group);
        for (const row of all) file.add(row);
        file.finish((id) => parts[String(id)]);
        expect(existsSync(path)).toBe(false);
        file.publish();
        const read = await parquetReadObjects({ file: await asyncBufferFromFile(path) });
        rmSync(path);
        expect(read).toEqual(
          all.map(({ text, small, large, yes, id, end }) => {
            const whole = id === undefined ? undefined : parts[String(id)];
            return {
              capture: 'c',
              host: host ?? null,
              text: text?.toWellFormed() ?? null,
              small: small ?? null,
              large: large ?? null,
              yes,
              end: id === undefined ? null : whole?.crosswise === true ? 1 - end : end,
              id: whole?.id ?? id ?? null,
            };
          }),
        );
      },
    ),
    { numRuns: 100 },
  );
});

it('leaves nothing when it is discarded, open or closed', () => {
  const make = (): TableFile<Row> => new TableFile(path, TABLE, { capture: 'c', host: undefined }, 'test');
  make().discard();
  const closed = make();
  closed.finish(() => undefined);
  closed.discard();
  expect(readdirSync(scratch)).toEqual([]);
});

it('has closed its file when it is published: a fleet has more files than a process may have open', () => {
  const open = () =>
    readdirSync('/proc/self/fd').filter((fd) => {
      const at = `/proc/self/fd/${fd}`;
      return existsSync(at) && readlinkSync(at).includes(scratch);
    });
  const file: TableFile<Row> = new TableFile(path, TABLE, { capture: 'c', host: undefined }, 'test');
  expect(open().length).toBe(1);
  file.finish(() => undefined);
  file.publish();
  expect(open()).toEqual([]);
  rmSync(path);
});

it('has NULL for a time that 64 bits have no room for, as a clock gone wrong may give', () => {
  expect(epochNs({ seconds: 1_700_000_000, nanoseconds: 999_999_999 }, 2)).toBe(1_700_000_001_000_000_001n);
  expect(epochNs({ seconds: -1, nanoseconds: 5 })).toBe(-999_999_995n);
  expect(epochNs({ seconds: 9_223_372_036, nanoseconds: 854_775_807 })).toBe(2n ** 63n - 1n);
  expect(epochNs({ seconds: 9_223_372_036, nanoseconds: 854_775_808 })).toBeUndefined();
  expect(epochNs({ seconds: -18_446_744_073_709, nanoseconds: 0 })).toBeUndefined();
});
