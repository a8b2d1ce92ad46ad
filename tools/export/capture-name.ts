/**
 * What a capture is called in an export, and which host it is from.
 *
 * Owns the rules. Names are those of files that every reader finds: Spark skips what begins with a dot or an
 * underscore, and Hadoop knows no colons.
 */
import { basename } from 'node:path';
import { RoceError } from 'rocev2/packets';
import type { Origin } from './schema.ts';

/** A file to export, and what its rows say of where they are from. */
export interface Source extends Origin {
  readonly file: string;
}

/** How hosts are told. */
export interface HostFlags {
  /** All captures are from this host. */
  readonly host?: string;
  /** Where a file's path has the name of its host: the group named `host`, or the first one. */
  readonly hostFrom?: RegExp;
}

/**
 * The captures behind the files of a command line.
 *
 * @throws RoceError ERR_ROCE_ARGUMENT where a path does not match, or two captures would have the same name
 */
export function sourcesOf(files: readonly string[], flags: HostFlags): Source[] {
  const sources = files.map((file) => {
    const host = hostOf(file, flags);
    const name = file === '-' ? 'stdin' : basename(file).replace(/\.(?:pcap|pcapng|cap)$/i, '');
    const capture = safeName(host === undefined || name.startsWith(host) ? name : `${host}.${name}`);
    return { file, capture, host };
  });
  for (const [i, { capture, file }] of sources.entries()) {
    // Some file systems take no notice of case.
    const other = sources.slice(0, i).find((one) => one.capture.toLowerCase() === capture.toLowerCase());
    if (other !== undefined)
      throw new RoceError(
        'ERR_ROCE_ARGUMENT',
        `${other.file} and ${file} would both be the capture ${capture}: ${HINT}`,
      );
  }
  return sources;
}

function hostOf(file: string, { host, hostFrom }: HostFlags): string | undefined {
  if (hostFrom === undefined) return host;
  const match = hostFrom.exec(file);
  const found = match?.groups?.['host'] ?? match?.[1];
  if (found === undefined || found === '')
    throw new RoceError('ERR_ROCE_ARGUMENT', `${file} has no host by --host-from ${hostFrom.source}`);
  return found;
}

function safeName(name: string): string {
  const safe = name.replace(/[^\w.-]/g, '_');
  return /^[a-z\d]/i.test(safe) ? safe : `capture${safe}`;
}

const HINT = 'say which hosts they are from with --host-from, or export them one by one with --host';
