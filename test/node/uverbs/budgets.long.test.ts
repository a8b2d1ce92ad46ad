/**
 * Goal: a server of verbs carries 1,000 queue pairs of eight programs, and an idle context costs it 1 MiB at most.
 * Method: programs (many.py) that open contexts and make queue pairs; what this process holds before and after, the
 * heap and the resident pages both, in a process of its own (budgets-server.ts). Figures are printed. Some ten seconds
 * of one processor.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { describeWith } from '../../support/need.ts';
import type { Figures } from './budgets-server.ts';

const SERVER = fileURLToPath(new URL('./budgets-server.ts', import.meta.url));
const MIB = 2 ** 20;

/** What a server of its own process holds for so many programs of so many contexts of so many queue pairs. */
function measure(programs: number, contexts: number, queuePairs: number): Promise<Figures> {
  const child = fork(SERVER, [programs, contexts, queuePairs].map(String), {
    execArgv: ['--import', 'tsx', '--expose-gc'],
  });
  return new Promise((resolve, reject) => {
    let figures: Figures | undefined;
    child.once('message', (message) => {
      figures = message as Figures;
    });
    child.once('exit', (code) => {
      if (code === 0 && figures !== undefined) resolve(figures);
      else reject(new Error(`the server has ended with ${code}`));
    });
  });
}

describeWith('pyverbs', 'a server of verbs', () => {
  it('has 1,000 queue pairs of eight programs', async () => {
    const figures = await measure(8, 1, 125);
    print('1,000 queue pairs of 8 programs', figures, 1000);
    expect(figures).toMatchObject({ queuePairs: 1000, files: 8, left: 0 });
  });

  it('gives an idle context 1 MiB at most', async () => {
    const figures = await measure(2, 64, 0);
    print('128 idle contexts of 2 programs', figures, 128);
    expect(figures).toMatchObject({ files: 128, left: 0 });
    expect(Math.max(figures.residentBytes, figures.heapBytes) / 128).toBeLessThan(MIB);
  });
});

function print(what: string, { residentBytes, heapBytes }: Figures, count: number): void {
  const each = (bytes: number): string => `${(bytes / count / 1024).toFixed(1)} KiB`;
  console.log(`${what}: ${each(residentBytes)} of resident memory each, ${each(heapBytes)} of heap and buffers`);
}
