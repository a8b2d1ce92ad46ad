/** A folder of files, new for each test. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';

export interface Folder {
  /** Where it is, in a test. */
  readonly root: string;
  /** Writes a file below it; folders are made. Returns its full path. */
  put(path: string, text: string): string;
}

/** To be called where tests are described. */
export function useFolder(): Folder {
  let root = '';
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'roce-counters-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));
  return {
    get root() {
      return root;
    },
    put(path, text) {
      const full = join(root, path);
      mkdirSync(dirname(full), { recursive: true });
      writeFileSync(full, text);
      return full;
    },
  };
}
