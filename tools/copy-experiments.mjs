/** Puts the built-in experiments, which are data and no sources, beside the compiled tools. */
import { cpSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
cpSync(at('tools/experiments'), at('dist/tools/experiments'), { recursive: true });
