/**
 * Debian package records and what follows from them: which packages an image needs. Pure; reads no file, runs no
 * program. The format is deb-control(5): stanzas of "Field: value" separated by blank lines, continuation lines
 * indented.
 */
import { RoceError } from 'rocev2/packets';

export interface PackageRecord {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
  /** For each dependency, Pre-Depends first, its alternatives in order of preference; names only. */
  readonly depends: readonly (readonly string[])[];
}

/** Looks up records by name; an unknown name (a virtual one, for example) is absent from the answer. */
export type PackageLookup = (names: readonly string[]) => Promise<readonly PackageRecord[]>;

/** Parses the stanzas `apt-cache show` prints; one without a name or version is passed over. */
export function parsePackages(text: string): PackageRecord[] {
  const records: PackageRecord[] = [];
  for (const stanza of text.split(/\n[ \t]*\n/)) {
    const fields = parseFields(stanza);
    const name = fields.get('package');
    const version = fields.get('version');
    if (name === undefined || version === undefined) continue;
    const depends = [...parseRelations(fields.get('pre-depends')), ...parseRelations(fields.get('depends'))];
    records.push({ name, version, sha256: fields.get('sha256') ?? '', depends });
  }
  return records;
}

/** "a (>= 1) | b, c:any" is [["a", "b"], ["c"]]: versions and architecture qualifiers are apt's concern. */
export function parseRelations(value: string | undefined): string[][] {
  if (value === undefined) return [];
  return value
    .split(',')
    .map((group) =>
      group
        .split('|')
        .map(relationName)
        .filter((name) => name !== ''),
    )
    .filter((group) => group.length > 0);
}

/**
 * The wanted packages and every dependency that `follow` accepts, sorted by name. Of alternatives the first known one
 * is taken. Throws `RoceError` when a wanted package is unknown; an unknown dependency is left out (it may be virtual).
 */
export async function resolvePackages(
  wanted: readonly string[],
  lookup: PackageLookup,
  follow: (name: string) => boolean,
): Promise<PackageRecord[]> {
  const found = new Map<string, PackageRecord>();
  const asked = new Set<string>();
  let frontier: readonly string[] = wanted;
  while (frontier.length > 0) {
    for (const name of frontier) asked.add(name);
    const records = await lookup(frontier);
    for (const record of records) found.set(record.name, record);
    const next = new Set<string>();
    for (const record of records) {
      for (const group of record.depends) {
        const name = group.find(follow);
        if (name !== undefined && !asked.has(name)) next.add(name);
      }
    }
    frontier = [...next];
  }
  const missing = wanted.filter((name) => !found.has(name));
  if (missing.length > 0) {
    throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `the Debian mirror has no package ${missing.join(', ')}`);
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function parseFields(stanza: string): Map<string, string> {
  const fields = new Map<string, string>();
  let current = '';
  for (const line of stanza.split('\n')) {
    if (/^[ \t]/.test(line)) {
      if (current !== '') fields.set(current, `${fields.get(current) ?? ''}\n${line.trim()}`);
      continue;
    }
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    current = line.slice(0, colon).toLowerCase();
    fields.set(current, line.slice(colon + 1).trim());
  }
  return fields;
}

function relationName(relation: string): string {
  return relation.trim().split(/[\s(:[<]/, 1)[0] ?? '';
}
