/**
 * `npm run build`, the page: writes it beside the compiled tools, where `roce view` looks for it. Owns the place only.
 */
import { fileURLToPath } from 'node:url';
import { buildExplorer } from './build.ts';

await buildExplorer(fileURLToPath(new URL('../dist/explorer/explorer.html', import.meta.url)));
