/** Writes the table of `docs/analyze.md` that says how often verdicts are right: `npm run docs:truth`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { PAGE, SEEDS, withTable } from './page.ts';
import { measure, truthTable } from './table.ts';

writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8'), truthTable(await measure(SEEDS))));
