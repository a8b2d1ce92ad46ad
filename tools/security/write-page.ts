/** `npm run docs:security`: writes docs/security-tests.md. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { currentSecurityPage, SECURITY_PAGE } from './page.ts';

writeFileSync(join(fileURLToPath(new URL('../..', import.meta.url)), SECURITY_PAGE), currentSecurityPage());
