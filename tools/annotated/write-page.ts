/** `npm run annotated -- FILE`: writes the annotated connection as a page that loads nothing. */
import { writeFileSync } from 'node:fs';
import { terminal } from '../output.ts';
import { connectionPage } from './connection.ts';

const [file = 'annotated-connection.html'] = process.argv.slice(2);
writeFileSync(file, connectionPage({ reference: (page, section) => `docs/reference/${page}.md#${section}` }));
terminal.line(`written: ${file}`);
