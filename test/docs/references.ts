/**
 * Finds what leads out of the repository or nowhere: citations of reference pages, paths that climb above the root,
 * links. Owns the search and how a finding reads (`file:line: what is wrong`). Works on any map of texts, so that it
 * can be tested itself.
 */
import { posix } from 'node:path';
import { anchorsOf, linksOf } from './markdown.ts';
import type { Repository } from './repository.ts';

/** Where cited pages live. */
export const REFERENCE_FOLDER = 'docs/reference';

/** What may be said although it leads out of the tracked files. */
export interface Exceptions {
  /** `file: path`, as `climbs` would report it. */
  readonly climbs: ReadonlySet<string>;
}

/** No exceptions. */
export const NONE: Exceptions = { climbs: new Set() };

/**
 * A citation: `ref`, a colon, a page, and maybe `#` and a section. A full stop or a hyphen at its end belongs to the
 * sentence.
 */
const CITATION = /\bref:([a-z][a-z0-9-]*)(?:#([A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*))?/g;
const CLIMB = /(?:\.\.\/)+[\w@.-]*/g;
/**
 * What only one machine has: homes, folders of work and of automatic builds; and in a lock file or a configuration, a
 * registry other than the public one.
 */
const MACHINE = /(?<![\w.:/-])\/(?:home|Users|root|work|workspace|builds|mnt)\/[\w.@-]+/g;
const REGISTRY = /(?:"resolved": "|\bregistry\s*=\s*"?)https?:\/\/(?!registry\.npmjs\.org\/)[^\s"/]+/g;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/** Citations that name no page, or no section of it. */
export function deadCitations(repository: Repository, inScope: (path: string) => boolean): string[] {
  const sections = anchorTable(repository);
  return eachLine(repository, inScope, (text) =>
    [...text.matchAll(CITATION)].flatMap(([citation, name = '', section]) => {
      const page = `${REFERENCE_FOLDER}/${name}.md`;
      const anchors = sections(page);
      if (anchors === undefined) return [`${citation}: there is no ${page}`];
      return section === undefined || anchors.has(section) ? [] : [`${citation}: ${page} has no such section`];
    }),
  );
}

/** How many citations there are. */
export function countCitations(repository: Repository, inScope: (path: string) => boolean): number {
  return eachLine(repository, inScope, (text) => [...text.matchAll(CITATION)].map(String)).length;
}

/** Relative paths, in whatever text, that lead above the root. */
export function climbs(repository: Repository, inScope: (path: string) => boolean, { climbs }: Exceptions): string[] {
  return eachLine(repository, inScope, (text, path) =>
    [...text.matchAll(CLIMB)].flatMap(([climb]) =>
      isOutside(posix.join(posix.dirname(path), climb)) && !climbs.has(`${path}: ${climb}`)
        ? [`${climb} leads out of the repository`]
        : [],
    ),
  );
}

/** Paths and package registries that only the machine of one developer has. */
export function machinesOf(repository: Repository, inScope: (path: string) => boolean): string[] {
  return eachLine(repository, inScope, (text) =>
    [...text.matchAll(MACHINE), ...text.matchAll(REGISTRY)].map(([found]) => `${found} is of one machine`),
  );
}

/** Links of Markdown pages that lead to no file of the repository, or to no place in it. */
export function deadLinks(repository: Repository, inScope: (path: string) => boolean): string[] {
  const sections = anchorTable(repository);
  const folders = foldersOf(repository);
  return [...repository].flatMap(([path, page]) => {
    if (page === undefined || !path.endsWith('.md') || !inScope(path)) return [];
    return linksOf(page).flatMap(({ line, target }) => {
      if (SCHEME.test(target)) return [];
      const [file = '', anchor] = target.split('#');
      const to = file === '' ? path : posix.join(posix.dirname(path), decodeURI(file)).replace(/\/$/, '');
      const say = (what: string) => [`${path}:${line}: ${target}: ${what}`];
      if (isOutside(to) || file.startsWith('/')) return say('leads out of the repository');
      if (!repository.has(to)) return folders.has(to) ? [] : say(`there is no ${to}`);
      if (anchor === undefined || !to.endsWith('.md') || sections(to)?.has(decodeURI(anchor))) return [];
      return say(`${to} has no such section`);
    });
  });
}

function eachLine(
  repository: Repository,
  inScope: (path: string) => boolean,
  look: (line: string, path: string) => readonly string[],
): string[] {
  return [...repository].flatMap(([path, text]) =>
    text === undefined || !inScope(path)
      ? []
      : text.split('\n').flatMap((line, index) => look(line, path).map((what) => `${path}:${index + 1}: ${what}`)),
  );
}

/** Anchors of a page, found when first asked for; undefined where there is no such page. */
function anchorTable(repository: Repository): (page: string) => ReadonlySet<string> | undefined {
  const known = new Map<string, ReadonlySet<string>>();
  return (page) => {
    const text = repository.get(page);
    if (text === undefined) return undefined;
    const anchors = known.get(page) ?? anchorsOf(text);
    known.set(page, anchors);
    return anchors;
  };
}

function foldersOf(repository: Repository): ReadonlySet<string> {
  const folders = new Set<string>(['.']);
  for (const path of repository.keys()) {
    for (let folder = posix.dirname(path); folder !== '.'; folder = posix.dirname(folder)) folders.add(folder);
  }
  return folders;
}

function isOutside(path: string): boolean {
  return path === '..' || path.startsWith('../');
}
