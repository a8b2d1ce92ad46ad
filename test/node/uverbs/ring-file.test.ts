/**
 * Goal: a client that sleeps is woken once for all that completes in a turn, and one that does not is no call of the
 * kernel. Method: the file of rings with its calls counted, and a client that writes the words of its first page.
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { expect, it } from 'vitest';
import { loadLibc } from '../../../src/node/links/libc.ts';
import { RingFile } from '../../../src/node/uverbs/ring-file.ts';
import { describeWith } from '../../support/need.ts';

const WAITING_AT = 64;

describeWith('koffi', 'a completion', () => {
  const setUp = async (sleeping: number) => {
    let wakes = 0;
    const real = await loadLibc();
    const libc = new Proxy(real, {
      get: (of, name) => {
        if (name === 'futexWake') wakes += 1;
        return Reflect.get(of, name, of);
      },
    });
    const file = RingFile.create(libc);
    const client = openSync(`/proc/self/fd/${file.fd}`, 'r+');
    writeSync(client, new Uint8Array(Uint32Array.of(sleeping).buffer), 0, 4, WAITING_AT);
    const count = (): number => {
      const word = new Uint32Array(1);
      readSync(client, word, 0, 4, 0);
      return word[0] as number;
    };
    const end = (): void => {
      file.close();
      closeSync(client);
    };
    return { file, count, end, wakes: () => wakes };
  };

  it('is counted at once, and all of a turn are one wake-up', async () => {
    const { file, count, end, wakes } = await setUp(1);
    for (const nth of [1, 2, 3]) {
      file.completed();
      expect([count(), wakes()]).toEqual([nth, 0]);
    }
    await Promise.resolve();
    expect(wakes()).toBe(1);
    file.completed();
    await Promise.resolve();
    expect([count(), wakes()]).toEqual([4, 2]);
    end();
  });

  it('wakes nobody where nobody sleeps', async () => {
    const { file, count, end, wakes } = await setUp(0);
    file.completed();
    await Promise.resolve();
    expect([count(), wakes()]).toEqual([1, 0]);
    end();
  });

  it('wakes nobody after the end of the file', async () => {
    const { file, end, wakes } = await setUp(1);
    file.completed();
    end();
    await Promise.resolve();
    expect(wakes()).toBe(0);
  });
});
