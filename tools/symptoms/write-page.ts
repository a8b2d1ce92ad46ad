/** Writes docs/symptoms.md and its pictures. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { symptomFiles } from './page.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
for (const [path, text] of await symptomFiles()) {
  mkdirSync(dirname(join(ROOT, path)), { recursive: true });
  writeFileSync(join(ROOT, path), text);
}
