/**
 * A corpus as one file, so that a hundred small inputs are no hundred files: length 4 (big-endian) | bytes, over and
 * over, deflated. Owns the files in `test/fuzz/corpus/`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** Where the corpora of the repository are. */
export const CORPUS_DIRECTORY = fileURLToPath(new URL('../corpus', import.meta.url));

/** The inputs of a target; none where there is no file. */
export function readCorpus(target: string, directory = CORPUS_DIRECTORY): Uint8Array[] {
  const file = corpusFile(target, directory);
  if (!existsSync(file)) return [];
  const bytes = new Uint8Array(inflateRawSync(readFileSync(file)));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const inputs: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = view.getUint32(at);
    inputs.push(bytes.slice(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return inputs;
}

export function writeCorpus(target: string, inputs: readonly Uint8Array[], directory = CORPUS_DIRECTORY): void {
  const parts = inputs.flatMap((input) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(input.length);
    return [length, input];
  });
  writeFileSync(corpusFile(target, directory), deflateRawSync(Buffer.concat(parts), { level: 9 }));
}

export function corpusFile(target: string, directory = CORPUS_DIRECTORY): string {
  return join(directory, `${target}.corpus`);
}
