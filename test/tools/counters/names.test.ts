/** Goal: the tables of names are sound, and the page shows them. Method: each row is looked up; the page is made again. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { DeviceCounters } from '../../../src/device/counters.ts';
import { ALL_KINDS } from '../../../tools/counters/kinds.ts';
import { ALL_NAMES, counterOf } from '../../../tools/counters/names.ts';
import { counterPage } from '../../../tools/counters/page.ts';
import { PortCounters } from '../../../transport/counters.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

it('every row is found by its name, and counts what the first of that name does', () => {
  for (const { name, kind } of ALL_NAMES) expect(counterOf(name.replace('{p}', '3'))?.row.kind, name).toBe(kind);
});

it('every row has a public source, or a file of this repository', () => {
  for (const source of new Set(ALL_NAMES.flatMap((row) => row.source.split(', '))))
    expect(source.startsWith('https://') || existsSync(`${root}${source}`), source).toBe(true);
});

it('every kind has a counter', () => {
  expect(ALL_KINDS.filter((kind) => !ALL_NAMES.some((row) => row.kind === kind))).toEqual([]);
});

it('names of our own devices are those of their counters', () => {
  const camel = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const own = { ...new PortCounters(), ...new DeviceCounters() };
  for (const { name, driver } of ALL_NAMES.filter((row) => row.driver === 'rocev2' && !row.name.includes('/')))
    expect(own, `${driver} ${name}`).toHaveProperty(camel(name));
});

it('a priority is read from the name', () => {
  expect(counterOf('rx_prio5_pause_duration')).toMatchObject({ priority: 5, row: { kind: 'pause-rx-time' } });
  expect(counterOf('SAI_PORT_STAT_PFC_3_TX_PKTS')).toMatchObject({ priority: 3, row: { kind: 'pause-tx' } });
  expect(counterOf('rx_prio8_pause')).toBeUndefined();
});

it('docs/counters.md has these tables; npx tsx tools/counters/page.ts writes them', () => {
  const page = readFileSync(`${root}docs/counters.md`, 'utf8');
  const cells = (text: string): string => text.replace(/ +\|/g, ' |').replace(/\| +/g, '| ').replace(/-{3,}/g, '---');
  expect(cells(page)).toBe(cells(counterPage(page)));
});
