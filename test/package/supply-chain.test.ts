/**
 * Goal: what `npm ci` installs is decided in this repository: every package from a registry, with the hash of its content,
 * and no script of a package runs that has no reason here. Method: package-lock.json and the package files, as they
 * are; no network.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
}

interface Manifest {
  readonly scripts?: Readonly<Record<string, string>>;
  readonly allowScripts?: Readonly<Record<string, boolean>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const textOf = (path: string): string => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');
const lock: { readonly lockfileVersion: number; readonly packages: Readonly<Record<string, Locked>> } = JSON.parse(
  textOf('package-lock.json'),
);
const manifests = ['package.json', 'tools/package.json', 'typedoc/package.json'].map((path) => {
  const manifest: Manifest = JSON.parse(textOf(path));
  return { path, manifest };
});

/** Installed packages: not our own, which are links and folders. */
const foreign = Object.entries(lock.packages).filter(
  ([path, { link }]) => path.includes('node_modules/') && link !== true,
);
/** A release, or one of a series with its number: DuckDB's packages are `1.5.6-r.1`. */
const EXACT = /^\d+\.\d+\.\d+(-r\.\d+)?$/;
const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** Scripts that run at installation, and why each has to. */
const INSTALL_SCRIPTS: Readonly<Record<string, string>> = {
  cap: 'builds the binding of libpcap for the link pcap; optional',
  esbuild: 'checks the binary of this platform, which came as a package of its own; development only',
  koffi: 'chooses its binary of this platform, or builds it; for the links that call the C library; optional',
  'raw-socket': 'builds the binding of raw sockets for the link raw-socket; optional',
};

/**
 * Builds of the formatter for platforms that the registry lacked with which the lock was made. They are optional,
 * development only and of exact version; on these platforms npm takes the hash that the registry gives. To be taken
 * off when the lock is made anew with a registry that has them; nothing may be added.
 */
const WITHOUT_INTEGRITY = [
  '@biomejs/cli-android-arm64',
  '@biomejs/cli-android-x64',
  '@biomejs/cli-darwin-arm64',
  '@biomejs/cli-darwin-x64',
  '@biomejs/cli-linux-arm64-musl',
  '@biomejs/cli-linux-x64-musl',
  '@biomejs/cli-win32-arm64',
  '@biomejs/cli-win32-x64',
];

describe('the lock', () => {
  it('has the hash (SHA-512) of every package, but of builds for platforms that are listed with the reason', () => {
    expect(lock.lockfileVersion).toBe(3);
    expect(foreign.length).toBeGreaterThan(100);
    const without = foreign.filter(([, { integrity }]) => integrity === undefined);
    expect(without.map(([path]) => nameOf(path)).sort()).toEqual(WITHOUT_INTEGRITY);
    for (const [, { optional, dev, os }] of without) expect([optional, dev, os?.length]).toEqual([true, true, 1]);
    const weak = foreign.filter(
      ([, { integrity }]) => integrity !== undefined && !/^sha512-[\w+/]{86}==$/.test(integrity),
    );
    expect(weak).toEqual([]);
  });

  it('takes packages from a registry only: no git, no address, no file', () => {
    // Without `resolved` npm asks the registry that is configured, and compares the hash.
    const elsewhere = foreign.filter(([, { resolved }]) => resolved !== undefined && !isRegistryTarball(resolved));
    expect(elsewhere).toEqual([]);
    expect(foreign.filter(([, { version }]) => !/^\d+\.\d+\.\d+/.test(version ?? ''))).toEqual([]);
    const links = Object.entries(lock.packages).filter(([, { link }]) => link === true);
    expect(links.map(([, { resolved }]) => resolved).sort()).toEqual(['', 'tools', 'typedoc']);
  });

  it('has install scripts of exactly the packages that need theirs', () => {
    const scripted = foreign.filter(([, { hasInstallScript }]) => hasInstallScript === true);
    expect(scripted.map(([path]) => nameOf(path)).sort()).toEqual(Object.keys(INSTALL_SCRIPTS).sort());
    for (const [path, { optional, dev }] of scripted)
      expect([path, optional === true || dev === true]).toEqual([path, true]);
  });
});

describe('the package files', () => {
  it('allow the same install scripts', () => {
    expect(Object.keys(manifests[0]?.manifest.allowScripts ?? {}).sort()).toEqual(Object.keys(INSTALL_SCRIPTS).sort());
  });

  it('name exact versions of the registry, and our own folders', () => {
    const loose = manifests.flatMap(({ path, manifest }) => {
      const { dependencies, devDependencies, optionalDependencies, peerDependencies } = manifest;
      return [dependencies, devDependencies, optionalDependencies, peerDependencies]
        .flatMap((each) => Object.entries(each ?? {}))
        .filter(([name, version]) => !(name === 'rocev2' && version === 'file:..') && !EXACT.test(version))
        .map(([name, version]) => `${path} ${name} ${version}`);
    });
    expect(loose).toEqual([]);
  });

  it('run nothing of ours at installation', () => {
    for (const { scripts = {} } of manifests.map(({ manifest }) => manifest))
      for (const name of ['preinstall', 'install', 'postinstall', 'prepare']) expect(scripts[name]).toBe(undefined);
  });
});

function isRegistryTarball(resolved: string): boolean {
  return /^https:\/\/registry\.npmjs\.org\/(@[\w.-]+\/)?[\w.-]+\/-\/[\w.-]+\.tgz$/.test(resolved);
}
