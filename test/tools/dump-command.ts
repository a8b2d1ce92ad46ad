// Runs the dump command alone, for dump.test.ts.

import { dumpCommand } from '../../tools/dump/index.ts';

await dumpCommand().parseAsync();
