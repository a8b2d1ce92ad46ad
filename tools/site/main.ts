/**
 * `npm run site`: builds the site in `site-out/` and crawls it; ends with 1 where a link is dead.
 * `-- --without-api` leaves out the pages of the API, `-- --serve` serves the folder afterwards.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { terminal } from '../output.ts';
import { buildSite } from './build.ts';
import { checkSite } from './check.ts';
import { ROOT } from './links.ts';
import { serveFolder } from './serve.ts';

const { values } = parseArgs({
  options: { 'without-api': { type: 'boolean', default: false }, serve: { type: 'boolean', default: false } },
});
const FOLDER = 'site-out';
const folder = join(ROOT, FOLDER);

await buildSite(folder, { api: !values['without-api'] });
const { pages, links, faults } = checkSite(folder);
for (const fault of faults) terminal.complaint(fault);
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => statSync(join(folder, name)));
const bytes = files.reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
terminal.line(`${FOLDER}/: ${pages} pages, ${(bytes / 2 ** 20).toFixed(1)} MiB, ${links} links, ${faults.length} dead`);
terminal.line(`Open ${FOLDER}/index.html, or copy the folder to any static host, at any path.`);
if (faults.length > 0) process.exitCode = 1;
else if (values.serve) terminal.line((await serveFolder(folder)).url);
