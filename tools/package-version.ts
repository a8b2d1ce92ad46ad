/** The version of this package, as `roce --version` prints it. */
import { existsSync, readFileSync } from 'node:fs';

/** From the package's own description, which is one level further up once compiled. */
export function packageVersion(): string {
  const urls = ['../package.json', '../../package.json'].map((path) => new URL(path, import.meta.url));
  const url = urls.find((candidate) => existsSync(candidate));
  if (url === undefined) return 'unknown';
  const description: unknown = JSON.parse(readFileSync(url, 'utf8'));
  const known = typeof description === 'object' && description !== null && 'version' in description;
  return known ? String(description.version) : 'unknown';
}
