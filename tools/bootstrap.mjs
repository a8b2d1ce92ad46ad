/**
 * Runs before `npm start` and `npm test`: a fresh clone has no node_modules yet, so install them once.
 * Plain JavaScript without dependencies, because nothing is installed when it runs.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
if (!existsSync(`${root}/node_modules/.package-lock.json`)) {
  console.log('rocev2: installing packages (npm ci) ...');
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
