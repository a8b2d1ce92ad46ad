/**
 * What a guest is made of: suites, packages, programs, kernel modules. Data only; a change here makes new images.
 */
import type { Suite } from './sources.ts';

/** The kernel generations of the lab: Debian 12, Debian 13, and Debian's newest. */
export const KERNELS = ['6.1', '6.12', 'sid'] as const;
export type KernelLabel = (typeof KERNELS)[number];

export const KERNEL_SUITES: Readonly<Record<KernelLabel, Suite>> = { '6.1': 'bookworm', '6.12': 'trixie', sid: 'sid' };

/** The metapackage whose dependencies lead to the newest kernel of a suite. */
export const KERNEL_METAPACKAGE = 'linux-image-amd64';

/**
 * A kernel's own packages. Up to 6.12 there is one, linux-image-*; 7.x is split: linux-binary-* has the kernel,
 * linux-modules-* the modules, linux-base-* the list of what is built in. Of the kernel's dependencies only these are
 * wanted: the rest (initramfs tools, kmod) serves installation.
 */
export const isKernelPart = (name: string): boolean => /^linux-(?:image|binary|modules|base)-/.test(name);

/** Programs taken from each package, by base name; 'all' takes each of its ELF programs. */
export const USERLAND_PROGRAMS: Readonly<Record<string, 'all' | readonly string[]>> = {
  'busybox-static': ['busybox'],
  // The shell of commands: busybox's own would run its applets even where the guest has the real program (ip).
  dash: ['dash'],
  iproute2: ['ip', 'rdma', 'ss'],
  'ibverbs-utils': 'all',
  'rdmacm-utils': 'all',
  perftest: 'all',
  'nvme-cli': ['nvme'],
  e2fsprogs: ['mke2fs', 'e2fsck'],
  // Only its runtime files.
  'ibverbs-providers': [],
};

/** What is built upon verbs, from the packages that the programs of docs/uverbs.md are from. */
const MIDDLEWARE_PROGRAMS: typeof USERLAND_PROGRAMS = {
  qperf: 'all',
  fio: ['fio'],
  'ucx-utils': 'all',
  // Its transports, which it opens by name.
  libucx0: [],
  'libfabric-bin': 'all',
};

/** Open MPI for ranks that a host starts here, beside what is built upon verbs, and the Python of their programs. */
const MPI_PROGRAMS: typeof USERLAND_PROGRAMS = {
  ...MIDDLEWARE_PROGRAMS,
  'openmpi-bin': ['orted'],
  // Its plug-ins, settings and messages; and Python's own.
  libopenmpi3: [],
  'openmpi-common': [],
  'python3-minimal': [],
  'libpython3.11-minimal': [],
  'python3.11-minimal': ['python3.11'],
  'python3-mpi4py': [],
};

/**
 * Files that no program names as a library but that are needed when it runs: the loader, and what is opened by name.
 */
const isRuntimeFile = (path: string): boolean =>
  path === 'usr/lib64/ld-linux-x86-64.so.2' ||
  // libc opens it when a thread is cancelled, as rping's are.
  path === 'usr/lib/x86_64-linux-gnu/libgcc_s.so.1' ||
  /^usr\/lib\/[^/]+\/libibverbs\/librxe-rdmav\d+\.so$/.test(path) ||
  path === 'etc/libibverbs.d/rxe.driver';

/**
 * What guests have to run, and from where: the programs that every guest has, so that only the kernel differs between
 * guests; what is built upon verbs beside them; or Python with the tests of pyverbs, the version that the suite has
 * compiled pyverbs for.
 */
export const USERLANDS = {
  programs: { suite: 'bookworm' },
  middleware: { suite: 'bookworm' },
  mpi: { suite: 'bookworm' },
  pyverbs: { suite: 'bookworm', python: 'python3.11' },
  'pyverbs-13': { suite: 'trixie', python: 'python3.13' },
} as const satisfies Readonly<Record<string, { readonly suite: Suite; readonly python?: string }>>;
export type Userland = keyof typeof USERLANDS;

/** A userland's programs, by package, as USERLAND_PROGRAMS has them. */
export function programsOf(userland: Userland): typeof USERLAND_PROGRAMS {
  if (userland === 'middleware') return { ...USERLAND_PROGRAMS, ...MIDDLEWARE_PROGRAMS };
  if (userland === 'mpi') return { ...USERLAND_PROGRAMS, ...MPI_PROGRAMS };
  const python = pythonOf(userland);
  if (python === undefined) return USERLAND_PROGRAMS;
  const packages = [`lib${python}-minimal`, `lib${python}-stdlib`, 'python3-pyverbs'];
  const files = Object.fromEntries(packages.map((name) => [name, []]));
  // Tests read sysfs by the program cat, and busybox's is linked statically: no shim gets before it.
  return { ...USERLAND_PROGRAMS, coreutils: ['cat'], [`${python}-minimal`]: [python], ...files };
}

/** Files of a userland that no program names as a library. */
export function isRuntimeFileOf(userland: Userland, path: string): boolean {
  const python = pythonOf(userland);
  const hasUcx = userland === 'middleware' || userland === 'mpi';
  if (hasUcx && /^usr\/lib\/[^/]+\/ucx\/[^/]+\.so[^/]*$/.test(path)) return true;
  if (userland === 'mpi' && isMpiFile(path)) return true;
  return isRuntimeFile(path) || (python !== undefined && isPythonFile(python, path));
}

/**
 * Libraries that installation would choose among alternatives: the link that the loader finds, and what it leads to.
 */
export const CHOSEN_LIBRARIES: ReadonlyMap<string, string> = new Map([
  ['usr/lib/x86_64-linux-gnu/libpsm_infinipath.so.1', 'usr/lib/libpsm1/libpsm_infinipath.so.1.16'],
]);

/** The name of a userland's Python, python3.11; undefined where it has none. */
export function pythonOf(userland: Userland): string | undefined {
  const { python } = USERLANDS[userland] as { readonly python?: string };
  return python;
}

const isMpiFile = (path: string): boolean =>
  /^usr\/lib\/[^/]+\/(?:openmpi\/lib\/openmpi3|pmix2\/lib\/pmix)\/[^/]+\.so$/.test(path) ||
  /^(?:etc|usr\/share)\/openmpi\//.test(path) ||
  /^usr\/lib\/[^/]+\/pmix2\/share\//.test(path) ||
  /^(?:usr\/lib|etc)\/python3\.11\//.test(path) ||
  path === 'usr/bin/python3' ||
  /^usr\/lib\/python3\/dist-packages\/mpi4py\/[^/]+(?:\.py|\.so)$/.test(path);

const isPythonFile = (python: string, path: string): boolean =>
  path.startsWith(`usr/lib/${python}/`) ||
  path.startsWith(`etc/${python}/`) ||
  path.startsWith('usr/lib/python3/dist-packages/pyverbs/') ||
  path.startsWith('usr/share/doc/rdma-core/tests/');

/**
 * Dependencies followed from there: libraries. The others (udev, debconf, adduser) serve installation, which never
 * happens.
 */
export const isLibraryPackage = (name: string): boolean => name.startsWith('lib') || name === 'zlib1g';

/** Modules loaded at boot, in this order, each after its dependencies. */
export const BOOT_MODULES = [
  'virtio_pci',
  'virtio_console',
  'virtio_net',
  // rxe before 7.x computes its ICRC through the crypto API and cannot load this by itself here (ref:rxe#1).
  'crc32_generic',
  'rdma_rxe',
  'rdma_ucm',
  'ib_umad',
] as const;

/**
 * Modules a command may load with `modprobe`: NVMe over RDMA, both ends, a disk in memory, and a file system with the
 * checksum that it computes through the crypto API.
 */
export const EXTRA_MODULES = ['nvme_rdma', 'nvmet_rdma', 'brd', 'crc32c_generic', 'ext4'] as const;

/** Modules that are not in every kernel of the lab. */
export const OPTIONAL_MODULES: ReadonlySet<string> = new Set(['crc32_generic', ...EXTRA_MODULES]);

/** Parts of the kernel tree no wanted module lives in: their contents are not even kept in memory. */
export const isForeignTree = (path: string): boolean =>
  /\/kernel\/(?:sound|fs\/(?!configfs|ext4|jbd2|mbcache)|drivers\/(?:gpu|media|staging|usb|iio|input|hwmon|scsi|mtd|net\/(?:wireless|ethernet|can|usb)))\//.test(
    path,
  );
