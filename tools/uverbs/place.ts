/**
 * A directory for a socket of this run alone, where only this user can look. Owns its removal, and that of directories
 * whose servers were killed.
 */
import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class PrivatePlace {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  static async make(parent: string = runtimeDirectory()): Promise<PrivatePlace> {
    const own = mkdtempSync(join(parent, PREFIX));
    for (const path of await abandoned(parent, lstatSync(own).mtimeMs)) rmSync(path, { recursive: true, force: true });
    return new PrivatePlace(own);
  }

  get socket(): string {
    return join(this.directory, SOCKET);
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/**
 * Those of ours at whose socket nobody listens; one that has no socket yet gets a minute.
 *
 * @param nowMs by the clock of the file system
 */
async function abandoned(parent: string, nowMs: number): Promise<string[]> {
  const found: string[] = [];
  for (const name of readdirSync(parent)) {
    const path = join(parent, name);
    const facts = name.startsWith(PREFIX) ? lstatSync(path, { throwIfNoEntry: false }) : undefined;
    if (facts === undefined || !facts.isDirectory() || facts.uid !== process.getuid?.()) continue;
    if (nowMs - facts.mtimeMs > GRACE_MS && !(await listens(join(path, SOCKET)))) found.push(path);
  }
  return found;
}

function listens(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function runtimeDirectory(): string {
  const { XDG_RUNTIME_DIR: directory = '' } = process.env;
  return directory === '' || lstatSync(directory, { throwIfNoEntry: false }) === undefined ? tmpdir() : directory;
}

const PREFIX = 'roce-run-';
const SOCKET = 'uverbs';
const GRACE_MS = 60_000;
