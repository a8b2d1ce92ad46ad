/**
 * A program that starts the link of its first argument, in a worker thread when the second is `worker`, and prints what
 * came of it.
 */
import { isMainThread, Worker } from 'node:worker_threads';
import { RoceError } from '../../../packets/errors.ts';
import { openLink } from '../../../src/node/links/index.ts';

const [spec = '', where] = process.argv.slice(2);
// Node 20 gives a worker none of the loaders of its parent.
const program = `import('tsx/esm/api').then(({ register }) => (register(), import(${JSON.stringify(import.meta.url)})))`;
if (where === 'worker' && isMainThread) new Worker(program, { argv: [spec], eval: true });
else await start();

async function start(): Promise<void> {
  try {
    const link = openLink(spec);
    await link.start({ receive: () => {}, writable: () => {}, closed: () => {} });
    console.log('started');
    await link.close();
  } catch (error) {
    console.log(error instanceof RoceError ? `${error.code} ${error.message}` : error);
  }
}
