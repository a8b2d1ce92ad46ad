/** `npm run docs:corpus`: writes the generated files of the folder `corpus/`, and removes those that are no more. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { corpusFiles } from './corpus.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const files = await corpusFiles();
for (const { name, parentPath } of readdirSync(join(ROOT, 'corpus'), { recursive: true, withFileTypes: true })) {
  const path = join(parentPath, name);
  const generated = /\.(?:json|pcap|pcapng)$/.test(name) && !name.endsWith('.schema.json');
  if (generated && !files.has(path.slice(ROOT.length))) rmSync(path);
}
for (const [path, bytes] of files) {
  mkdirSync(dirname(join(ROOT, path)), { recursive: true });
  writeFileSync(join(ROOT, path), bytes);
}
