/**
 * Kernel modules: which ones an image needs and in which order they load. The packages ship no modules.dep (depmod
 * writes it on installation), so the dependencies are read from the modules themselves. Pure but for the loader passed
 * in.
 */
import { RoceError } from 'rocev2/packets';
import { moduleInfo } from './elf.ts';

export interface KernelModule {
  /** With underscores, as the kernel names it. */
  readonly name: string;
  /** Names of the modules it needs, those that must be loaded first included ("softdep pre"). */
  readonly depends: readonly string[];
  /** The decompressed module. */
  readonly data: Uint8Array;
}

/** "kernel/net/ipv4/udp-tunnel.ko.xz" is "udp_tunnel"; undefined for a path that is no module. */
export function moduleName(path: string): string | undefined {
  const match = /([^/]+)\.ko(?:\.(?:xz|zst))?$/.exec(path);
  return match?.[1]?.replaceAll('-', '_');
}

/** The names in modules.builtin: part of the kernel itself, nothing to load. */
export function parseBuiltin(text: string): Set<string> {
  return new Set(text.split('\n').flatMap((line) => moduleName(line) ?? []));
}

/** What a module's description says it needs. */
export function moduleDependencies(data: Uint8Array): string[] {
  const info = moduleInfo(data);
  const names = (info.get('depends') ?? []).flatMap((list) => list.split(','));
  for (const softdep of info.get('softdep') ?? []) {
    // "pre: a b post: c": modules to be loaded afterwards are optional, and left out.
    const before = /pre:([^:]*?)(?:\s+post:|$)/.exec(softdep)?.[1] ?? '';
    names.push(...before.trim().split(/\s+/));
  }
  return names.filter((name) => name !== '').map((name) => name.replaceAll('-', '_'));
}

/**
 * The wanted modules and all they need, each after everything it depends on. A name that is built in is passed over; so
 * is an unknown one, unless it is wanted (names change between kernels: list those as optional by `mayBeAbsent`).
 */
export async function resolveModules(
  wanted: readonly string[],
  source: {
    readonly builtin: ReadonlySet<string>;
    readonly load: (name: string) => Promise<Uint8Array | undefined>;
    readonly mayBeAbsent?: ReadonlySet<string>;
  },
): Promise<KernelModule[]> {
  const ordered = new Map<string, KernelModule>();
  const visiting = new Set<string>();
  const visit = async (name: string, required: boolean): Promise<void> => {
    if (ordered.has(name) || visiting.has(name) || source.builtin.has(name)) return;
    visiting.add(name);
    const data = await source.load(name);
    if (data === undefined) {
      if (!required || source.mayBeAbsent?.has(name) === true) return;
      throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `this kernel package has no module ${name}`);
    }
    const depends = moduleDependencies(data);
    for (const dependency of depends) await visit(dependency, false);
    ordered.set(name, { name, depends: depends.filter((dependency) => ordered.has(dependency)), data });
  };
  for (const name of wanted) await visit(name, true);
  return [...ordered.values()];
}

/**
 * The modules.dep that modprobe reads, for modules that lie side by side in one directory, given in the order they
 * load. As depmod writes it: everything a module needs, directly or not, to be loaded from the right to the left
 * (modules.dep(5)).
 */
export function writeModulesDep(modules: readonly KernelModule[]): string {
  const closures = new Map<string, Set<string>>();
  const lines: string[] = [];
  for (const module of modules) {
    const closure = new Set(module.depends);
    for (const name of module.depends) {
      for (const further of closures.get(name) ?? []) closure.add(further);
    }
    closures.set(module.name, closure);
    const needed = modules.filter(({ name }) => closure.has(name)).reverse();
    lines.push(`${module.name}.ko:${needed.map(({ name }) => ` ${name}.ko`).join('')}\n`);
  }
  return lines.join('');
}
