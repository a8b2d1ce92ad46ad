/** Writes the tables of `docs/analyze.md` that say how often verdicts are right: `npm run docs:truth`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { PAGE, truthText, UNSEEN, withTable } from './page.ts';
import { measure } from './table.ts';

writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8'), truthText(await measure(UNSEEN))));
