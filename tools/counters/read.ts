/**
 * Snapshots from files and folders.
 *
 * Owns what makes a snapshot of files: each file with a header of its own (`# roce-counters`) is one, or several that
 * follow each other; so is whatever carries a name that begins with "before", "after" or a digit; all other files of a
 * folder together are one. The folders above name the host, unless the file does.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { setCounter, sysfsPlace } from './formats/sysfs.ts';
import { readText } from './formats/text.ts';
import { type Snapshot, SnapshotBuilder } from './snapshot.ts';

/** Input that is no snapshot; the message has one line and names the file. */
export class NoCountersError extends Error {
  override readonly name = 'NoCountersError';
}

/**
 * All snapshots below a path.
 *
 * @throws NoCountersError where there is no counter, or more files than anybody has counters
 */
export function readSnapshots(path: string): Snapshot[] {
  const isFolder = statOf(path).isDirectory();
  const snapshots = isFolder ? readFolder(path) : readFile(path, '', stageOf(basename(path)) ?? '');
  if (snapshots.length === 0) throw new NoCountersError(`${path}: there are no counters in it`);
  return snapshots;
}

/** Snapshots in one text, such as the output of `snapshot.sh`; without a header one in all. */
export function snapshotsOf(text: string, origin: string, host = '', stage = ''): Snapshot[] {
  return text.split(/^(?=#\s*roce-counters\b)/m).flatMap((part) => {
    const builder = new SnapshotBuilder();
    readText(part, builder);
    return builder.finish(origin, stage, host);
  });
}

function readFile(path: string, host: string, stage: string): Snapshot[] {
  return snapshotsOf(contents(path), path, host, stage);
}

/** Files that make one snapshot together. */
interface Group {
  readonly host: string;
  readonly stage: string;
  readonly builder: SnapshotBuilder;
}

function readFolder(path: string): Snapshot[] {
  const groups = new Map<string, Group>();
  const snapshots: Snapshot[] = [];
  for (const file of filesBelow(path, '')) {
    const place = sysfsPlace(file);
    const parts = (place?.prefix ?? file).split('/').filter((part) => part !== '');
    const stageAt = parts.findIndex((part) => stageOf(part) !== undefined);
    const folders = place === undefined ? parts.slice(0, -1) : parts;
    const stage = stageAt < 0 ? '' : (stageOf(parts[stageAt] ?? '') ?? '');
    const above = (stageAt < 0 ? folders : folders.slice(0, stageAt)).filter((part) => part !== 'sys').join('/');
    // In a folder of stages the folder is the host; otherwise its name is that of a time or a collection.
    const host = above === '' && stage !== '' ? basename(resolve(path)) : above;
    const full = join(path, file);
    const text = contents(full);
    if (place === undefined && /^#\s*roce-counters\b/m.test(text)) {
      snapshots.push(...snapshotsOf(text, full, host, stage));
      continue;
    }
    const group = groupOf(groups, host, stage);
    if (place === undefined) readText(text, group.builder);
    else setCounter(place, text, group.builder);
  }
  for (const { host, stage, builder } of groups.values()) {
    snapshots.push(...builder.finish(path, stage, host));
  }
  return snapshots;
}

function groupOf(groups: Map<string, Group>, host: string, stage: string): Group {
  const key = `${host}\n${stage}`;
  const group = groups.get(key) ?? { host, stage, builder: new SnapshotBuilder() };
  groups.set(key, group);
  return group;
}

function stageOf(name: string): string | undefined {
  return /^(before|after|\d)/i.test(name) && !/^\d+$/.test(name) ? name : undefined;
}

function filesBelow(root: string, folder: string): string[] {
  const found: string[] = [];
  const waiting = [folder];
  for (let at = 0; at < waiting.length; at++) {
    const here = waiting[at] ?? '';
    for (const entry of readdirSync(join(root, here), { withFileTypes: true })) {
      const path = here === '' ? entry.name : `${here}/${entry.name}`;
      if (entry.isDirectory() && path.split('/').length < MOST_LEVELS) waiting.push(path);
      else if (entry.isFile()) found.push(path);
    }
    if (found.length + waiting.length > MOST_FILES)
      throw new NoCountersError(`${root}: more than ${MOST_FILES} files, which cannot all be counters`);
  }
  return found.sort();
}

function contents(path: string): string {
  const { size } = statOf(path);
  if (size > MOST_BYTES) throw new NoCountersError(`${path}: ${size} bytes are too many for counters`);
  return readFileSync(path, 'utf8');
}

function statOf(path: string): ReturnType<typeof statSync> & object {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new NoCountersError(`${path}: no such file or folder`);
  return found;
}

const MOST_LEVELS = 12;
const MOST_FILES = 200_000;
const MOST_BYTES = 16 * 1024 * 1024;
