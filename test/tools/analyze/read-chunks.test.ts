/**
 * Goal: a defect of the file is told apart from a mistake of ours, and whoever gives the chunks can clean up in any
 * case. Method: chunks that end in each way.
 */
import { expect, it } from 'vitest';
import { RoceError } from '../../../packets/errors.ts';
import { readChunks } from '../../../tools/analyze/read-chunks.ts';

const GARBAGE = new TextEncoder().encode('this is no capture');
const nothing = () => undefined;

async function* failing(error: Error): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(0);
  throw error;
}

it('ends with a mistake of ours, and tells what the system says', async () => {
  const fault = new Error('ours');
  await expect(readChunks(failing(fault), nothing)).rejects.toBe(fault);
  const told = Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO', syscall: 'read' });
  expect(await readChunks(failing(told), nothing)).toEqual({ interfaces: [], damage: told });
});

it('lets go of the chunks where they are no capture', async () => {
  let left = false;
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield GARBAGE;
    } finally {
      left = true;
    }
  }
  const { damage } = await readChunks(endless(), nothing);
  expect([damage instanceof RoceError, left]).toEqual([true, true]);
});
