// Goal: the right packages come from the right place. Method: texts as apt prints them, and a small world of packages.
import { describe, expect, it } from 'vitest';
import { type PackageRecord, parsePackages, parseRelations, resolvePackages } from '../../tools/lab/packages.ts';
import { isKernelPart, isLibraryPackage, isRuntimeFileOf, programsOf } from '../../tools/lab/recipe.ts';
import { chooseMirrors, parseIndexTargets, sourcesList } from '../../tools/lab/sources.ts';

describe('parsePackages', () => {
  it('reads name, version, checksum and dependencies of each stanza', () => {
    const text = `Package: rdma-core
Version: 44.0-2
Depends: udev, libc6 (>= 2.34),
 libnl-3-200 (>= 3.2.7) | libnl-4
Pre-Depends: init-system-helpers (>= 1.54~)
Description: userspace
 Depends: this is not a field
SHA256: abc

Package: other
Version: 1:2

Source: no package here
`;
    expect(parsePackages(text)).toEqual([
      {
        name: 'rdma-core',
        version: '44.0-2',
        sha256: 'abc',
        depends: [['init-system-helpers'], ['udev'], ['libc6'], ['libnl-3-200', 'libnl-4']],
      },
      { name: 'other', version: '1:2', sha256: '', depends: [] },
    ]);
  });

  it('drops versions and architecture qualifiers of a relation', () => {
    expect(parseRelations('perl:any, a (= 1) | b [amd64], c<!nocheck>')).toEqual([['perl'], ['a', 'b'], ['c']]);
  });
});

describe('resolvePackages', () => {
  const world = new Map<string, PackageRecord>(
    [
      record('tool', ['libone', 'udev']),
      record('libone', ['libtwo', 'libvirtual']),
      record('libtwo', ['libone']),
      record('udev', ['libthree']),
      record('linux-image-amd64', ['linux-base-amd64', 'linux-image-7.2-amd64']),
      record('linux-base-amd64', ['linux-base-7.2-amd64']),
      record('linux-image-7.2-amd64', ['linux-initramfs-tool', 'linux-binary-7.2-amd64', 'linux-modules-7.2-amd64']),
      record('linux-binary-7.2-amd64', ['linux-base-7.2-amd64']),
      record('linux-modules-7.2-amd64', ['kmod', 'linux-base-7.2-amd64']),
      record('linux-base-7.2-amd64', []),
    ].map((entry) => [entry.name, entry]),
  );
  const lookup = async (names: readonly string[]) => names.flatMap((name) => world.get(name) ?? []);

  it('follows libraries, through cycles, and leaves out what serves installation or does not exist', async () => {
    const records = await resolvePackages(['tool'], lookup, isLibraryPackage);
    expect(records.map(({ name }) => name)).toEqual(['libone', 'libtwo', 'tool']);
  });

  it('finds the parts of a split kernel package', async () => {
    const records = await resolvePackages(['linux-image-amd64'], lookup, isKernelPart);
    expect(records.map(({ name }) => name)).toEqual([
      'linux-base-7.2-amd64',
      'linux-base-amd64',
      'linux-binary-7.2-amd64',
      'linux-image-7.2-amd64',
      'linux-image-amd64',
      'linux-modules-7.2-amd64',
    ]);
  });

  it('says which wanted package the mirror does not have', async () => {
    await expect(resolvePackages(['tool', 'nothing'], lookup, isLibraryPackage)).rejects.toThrow(/no package nothing/);
  });
});

describe('a guest with Open MPI', () => {
  it('has the daemon, what it and its ranks open by name, and nothing that the others do not have beside it', () => {
    const added = [
      'usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3/mca_pml_ucx.so',
      'usr/lib/x86_64-linux-gnu/pmix2/lib/pmix/pmix_mca_pcompress_zlib.so',
      'usr/lib/x86_64-linux-gnu/pmix2/share/pmix/help-ptl-base.txt',
      'usr/share/openmpi/help-orted.txt',
      'etc/openmpi/openmpi-mca-params.conf',
      'usr/bin/python3',
      'usr/lib/python3.11/os.py',
      'usr/lib/python3/dist-packages/mpi4py/MPI.cpython-311-x86_64-linux-gnu.so',
    ];
    const alsoOfOthers = ['usr/lib/x86_64-linux-gnu/ucx/libuct_ib.so.0', 'etc/libibverbs.d/rxe.driver'];
    const inMpi = [...added, ...alsoOfOthers].filter((path) => !isRuntimeFileOf('mpi', path));
    const inOthers = [...added, ...alsoOfOthers].filter((path) => isRuntimeFileOf('middleware', path));
    expect([inMpi, inOthers]).toEqual([[], alsoOfOthers]);
    expect(isRuntimeFileOf('mpi', 'usr/lib/python3/dist-packages/mpi4py/MPI.pxd')).toBe(false);
    expect(programsOf('mpi')).toMatchObject({ ...programsOf('middleware'), 'openmpi-bin': ['orted'] });
  });
});

describe('the mirror', () => {
  it("is the archive and the security archive of the machine's own apt, by the origin they are signed with", () => {
    const targets = parseIndexTargets(`http://a.example/vendor/debian/ bookworm main Vendor
http://m.example/some/where/ bookworm main Debian
http://m.example/some/where/ bookworm-updates main Debian
http://s.example/sec/ bookworm-security main Debian
http://m.example/some/where/ bookworm contrib Debian
`);
    expect(chooseMirrors(targets)).toEqual({
      archive: 'http://m.example/some/where/',
      security: 'http://s.example/sec/',
    });
  });

  it('is known by its address before a first update', () => {
    const targets = parseIndexTargets(`http://v.example/debian/12/prod/ bookworm main $(ORIGIN)
http://n.example/node_20.x/ nodistro main $(ORIGIN)
http://m.example/debian/ trixie main $(ORIGIN)
http://m.example/debian-security/ trixie-security main $(ORIGIN)
`);
    expect(chooseMirrors(targets)).toEqual({
      archive: 'http://m.example/debian/',
      security: 'http://m.example/debian-security/',
    });
  });

  it('is absent on a machine of another distribution', () => {
    expect(chooseMirrors(parseIndexTargets('http://u.example/ubuntu/ noble main Ubuntu\n'))).toBeUndefined();
    expect(chooseMirrors([])).toBeUndefined();
  });

  it('is asked for another suite, signed by the archive keyring, with its security suite where there is one', () => {
    const mirrors = { archive: 'http://m.example/debian/', security: 'http://m.example/debian-security/' };
    expect(sourcesList('trixie', mirrors, '/k.gpg')).toBe(
      'deb [arch=amd64 signed-by=/k.gpg] http://m.example/debian/ trixie main\n' +
        'deb [arch=amd64 signed-by=/k.gpg] http://m.example/debian-security/ trixie-security main\n',
    );
    expect(sourcesList('sid', mirrors, '/k.gpg')).toBe(
      'deb [arch=amd64 signed-by=/k.gpg] http://m.example/debian/ sid main\n',
    );
    expect(sourcesList('bookworm', { archive: 'http://m.example/debian/' }, '/k.gpg')).not.toContain('security');
  });
});

function record(name: string, depends: readonly string[]): PackageRecord {
  return { name, version: '1', sha256: '', depends: depends.map((dependency) => [dependency]) };
}
