/**
 * docs/conformance-devices.md: what the suite makes of devices that lack something, from the results that are kept
 * beside it. That those are true, the long test shows.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LIMITED_DEVICES } from './limited.ts';
import type { LimitedResult } from './limited-run.ts';

const DOCS = fileURLToPath(new URL('../../../docs', import.meta.url));
export const LIMITED_PAGE = join(DOCS, 'conformance-devices.md');
const RESULTS = join(DOCS, 'conformance-results/limited.json');

export const readLimited = (): readonly LimitedResult[] => JSON.parse(readFileSync(RESULTS, 'utf8')) as LimitedResult[];

export function writeLimited(results: readonly LimitedResult[]): void {
  writeFileSync(RESULTS, `${JSON.stringify(results, undefined, 1)}\n`);
  writeFileSync(LIMITED_PAGE, limitedPage(results));
}

export function limitedPage(results: readonly LimitedResult[]): string {
  return [
    '# Devices that lack something',
    '',
    'Written with `npx tsx tools/conformance/duts/write-limited.ts`; `npm run test:long` sees that it is true. Each is our own stack with one thing taken',
    'away, as a NIC would be without it: capabilities do not have it, verbs refuse it, and the wire answers as it does to what a device does not know.',
    'No rule may fail there that holds on the whole device: a rule that needs the feature does not apply, and says why.',
    '',
    'In virtual time a case that neither asks about a feature nor uses it runs with the same bytes without the feature, and is not repeated; nor are',
    'long cases and other starting PSNs.',
    '',
    '| device | it has | cases run | rules that fail | rules left open | rules that do not apply |',
    '| --- | --- | --- | --- | --- | --- |',
    ...results.map(
      ({ id, cases, wrong, open, notApplicable }) =>
        `| ${id} | ${LIMITED_DEVICES.find((device) => device.id === id)?.says ?? ''} | ${cases} | ${wrong.length} | ${open.length} | ${Object.values(notApplicable).flat().length} |`,
    ),
    '',
    '## Why rules do not apply',
    '',
    ...results.flatMap(({ id, notApplicable, open, wrong }) => [
      `**${id}**`,
      '',
      ...Object.entries(notApplicable).map(([reason, rules]) => `- ${reason}: ${rules.join(', ')}`),
      ...open.map((line) => `- left open: ${line}`),
      ...wrong.map((line) => `- fails: ${line}`),
      '',
    ]),
  ]
    .join('\n')
    .replace(/\n+$/, '\n');
}
