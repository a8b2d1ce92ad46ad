/**
 * Writes the tables of `docs/analyze.md` that say how often verdicts are right: `npm run docs:truth` those of the
 * simulated network, in some minutes; `npm run docs:truth -- --guests` plays 60 runs between guests, in five, and
 * keeps their captures with `--keep DIR`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { terminal } from '../output.ts';
import { confusion, confusionTable } from './confusion.ts';
import { measureAllGuests } from './guests/measure-all.ts';
import { guestText, readGuestTruths, writeGuestTruths } from './guests/table.ts';
import {
  PAGE,
  PLAYED_AGAIN,
  truthText,
  UNSEEN,
  withConfusion,
  withGuestTable,
  withResponses,
  withTable,
} from './page.ts';
import { measureResponses, responseTable } from './responses.ts';
import { measure } from './table.ts';

const guests = process.argv.includes('--guests');
const at = process.argv.indexOf('--keep');
const keep = at < 0 ? undefined : process.argv[at + 1];
if (guests) writeGuestTruths(await measureAllGuests((line) => terminal.line(line), keep));
const page = withGuestTable(readFileSync(PAGE, 'utf8'), guestText(readGuestTruths()));
if (guests) writeFileSync(PAGE, page);
else {
  const truth = truthText(await measure(UNSEEN));
  const responses = responseTable(await measureResponses(UNSEEN));
  const tables = withResponses(withTable(page, truth), responses);
  writeFileSync(PAGE, withConfusion(tables, confusionTable(await confusion(PLAYED_AGAIN))));
}
