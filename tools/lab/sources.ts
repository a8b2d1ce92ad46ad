/**
 * Where Debian packages come from: the mirror this machine's own apt uses, asked for another suite through a private
 * apt root, so that neither the machine's package lists nor its package database are touched and no root is needed.
 * Never names a host, and never weakens apt's signature check: every suite must verify with the installed archive
 * keyring.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RoceError } from 'rocev2/packets';
import { type PackageRecord, parsePackages } from './packages.ts';
import { runTool } from './tool.ts';

export type Suite = 'bookworm' | 'trixie' | 'sid';

/** One line of `apt-get indextargets`: a repository that apt knows of. */
export interface IndexTarget {
  readonly uri: string;
  readonly release: string;
  readonly component: string;
  /** The Origin field of its signed Release file, '' before the first `apt-get update`. */
  readonly origin: string;
}

export interface Mirrors {
  readonly archive: string;
  /** The security archive; absent where the machine does not use one. */
  readonly security?: string | undefined;
}

/** Options for apt-get, and what parses its answer. */
export const INDEX_TARGET_ARGUMENTS: readonly string[] = [
  'indextargets',
  '--format',
  '$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)',
  'Identifier: Packages',
];
export const NO_MIRROR =
  'the apt configuration of this machine names no Debian mirror; set ROCE_LAB_MIRROR to the address of one';
export const NO_KEYRING =
  'the Debian archive keyring is not installed here (package debian-archive-keyring); the lab takes no unsigned package';

export function parseIndexTargets(text: string): IndexTarget[] {
  const targets: IndexTarget[] = [];
  for (const line of text.split('\n')) {
    const [uri, release, component, origin] = line.trim().split(/\s+/);
    if (uri === undefined || release === undefined || component === undefined) continue;
    targets.push({ uri, release, component, origin: known(origin) });
  }
  return targets;
}

/**
 * Picks the Debian archive and its security archive among the repositories of the machine, or undefined where there is
 * none. What a signed Release file says (Origin) wins; before a first update only the suite name and the address are
 * known.
 */
export function chooseMirrors(targets: readonly IndexTarget[]): Mirrors | undefined {
  const debian = targets.filter((target) => {
    if (target.component !== 'main' || !DEBIAN_RELEASE.test(target.release)) return false;
    return target.origin === '' ? DEBIAN_ADDRESS.test(target.uri) : target.origin === 'Debian';
  });
  const archive = debian.find((target) => !target.release.includes('-'));
  if (archive === undefined) return undefined;
  return { archive: archive.uri, security: debian.find((target) => target.release.endsWith('-security'))?.uri };
}

/** The sources.list of one suite. Sid has no security archive of its own: fixes go to sid itself. */
export function sourcesList(suite: Suite, mirrors: Mirrors, keyring: string): string {
  const options = `[arch=amd64 signed-by=${keyring}]`;
  const lines = [`deb ${options} ${mirrors.archive} ${suite} main`];
  if (suite !== 'sid' && mirrors.security !== undefined) {
    lines.push(`deb ${options} ${mirrors.security} ${suite}-security main`);
  }
  return `${lines.join('\n')}\n`;
}

/** Asks the machine's apt for its Debian mirror; `ROCE_LAB_MIRROR` (an archive's address) overrides it. */
export async function findMirrors(signal?: AbortSignal): Promise<Mirrors> {
  const override = process.env['ROCE_LAB_MIRROR'];
  if (override !== undefined && override !== '') return { archive: override };
  const text = await runTool('apt-get', INDEX_TARGET_ARGUMENTS, { signal });
  const mirrors = chooseMirrors(parseIndexTargets(text.toString('utf8')));
  if (mirrors === undefined) throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', NO_MIRROR);
  return mirrors;
}

/** The keyring that must have signed every suite, where the package debian-archive-keyring has put it; or undefined. */
export function findKeyring(): string | undefined {
  return KEYRINGS.find((path) => existsSync(path));
}

/** A private apt root for one suite, in a directory of its own. */
export class AptRoot {
  readonly #directory: string;
  readonly #signal: AbortSignal | undefined;

  private constructor(directory: string, signal: AbortSignal | undefined) {
    this.#directory = directory;
    this.#signal = signal;
  }

  /** Writes the root into `directory` (created) and fetches the suite's package list. */
  static async create(directory: string, suite: Suite, signal?: AbortSignal): Promise<AptRoot> {
    const mirrors = await findMirrors(signal);
    const keyring = findKeyring();
    if (keyring === undefined) throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', NO_KEYRING);
    for (const part of ['lists/partial', 'cache/archives/partial', 'empty']) {
      await mkdir(join(directory, part), { recursive: true });
    }
    await writeFile(join(directory, 'status'), '');
    await writeFile(join(directory, 'sources.list'), sourcesList(suite, mirrors, keyring));
    await writeFile(join(directory, 'apt.conf'), aptConfiguration(directory));
    const root = new AptRoot(directory, signal);
    await root.#apt('apt-get', ['-q', '-o', 'Acquire::Retries=3', 'update']);
    return root;
  }

  /** The candidate version's record of each name that exists. */
  async show(names: readonly string[]): Promise<PackageRecord[]> {
    // apt-cache exits with 100 when one of the names is unknown or virtual, having printed the others.
    const text = await this.#apt('apt-cache', ['show', '--no-all-versions', ...names], [0, 100]);
    return parsePackages(text.toString('utf8'));
  }

  /** Downloads and verifies packages; returns the paths of the .deb files, in a directory that this call creates. */
  async download(records: readonly PackageRecord[], directory: string): Promise<string[]> {
    await mkdir(directory, { recursive: true });
    const wanted = records.map((record) => `${record.name}=${record.version}`);
    await this.#apt('apt-get', ['-q', '-o', 'Acquire::Retries=3', 'download', ...wanted], [0], directory);
    const files = (await readdir(directory)).filter((file) => file.endsWith('.deb')).sort();
    return files.map((file) => join(directory, file));
  }

  #apt(tool: string, args: readonly string[], accept: readonly number[] = [0], cwd = this.#directory): Promise<Buffer> {
    return runTool(tool, ['-c', join(this.#directory, 'apt.conf'), ...args], { cwd, accept, signal: this.#signal });
  }
}

/**
 * The machine's own apt.conf stays in force (proxies), but for where state is kept and for the hooks after an update.
 */
function aptConfiguration(directory: string): string {
  const quoted = (part: string): string => JSON.stringify(join(directory, part));
  return `Dir::State ${quoted('.')};
Dir::State::lists ${quoted('lists')};
Dir::State::status ${quoted('status')};
Dir::Cache ${quoted('cache')};
Dir::Cache::archives ${quoted('cache/archives')};
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Cache::srcpkgcache "srcpkgcache.bin";
Dir::Etc::sourcelist ${quoted('sources.list')};
Dir::Etc::sourceparts ${quoted('empty')};
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts ${quoted('empty')};
APT::Architecture "amd64";
#clear APT::Architectures;
APT::Architectures { "amd64"; };
#clear APT::Default-Release;
APT::Sandbox::User "root";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
`;
}

/** apt leaves a variable it has no value for as it stands. */
function known(value: string | undefined): string {
  return value === undefined || value.startsWith('$(') ? '' : value;
}

const DEBIAN_RELEASE =
  /^(?:bullseye|bookworm|trixie|forky|duke|sid|oldoldstable|oldstable|stable|testing|unstable)(?:-\w+)*$/;
const DEBIAN_ADDRESS = /\/debian(?:-security)?\/?$/;
const KEYRINGS = [
  '/usr/share/keyrings/debian-archive-keyring.pgp',
  '/usr/share/keyrings/debian-archive-keyring.gpg',
] as const;
