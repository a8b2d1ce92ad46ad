/**
 * How a thread of this package's own code is started, from its sources or from the build. Owns how TypeScript is loaded
 * in a thread.
 */
import { fileURLToPath } from 'node:url';

/** What `new Worker` of node:worker_threads takes: a file, or code that loads it. */
export interface WorkerSource {
  /** Path of a file; with `options.eval` JavaScript instead. */
  readonly source: string;
  /** Must be among the options of the worker. */
  readonly options: {
    /** Whether `source` is JavaScript. */
    readonly eval: boolean;
    /** Arguments of Node for the thread; absent: those of the process. */
    readonly execArgv?: string[];
  };
}

/**
 * A thread's start in the module `name` beside the module whose URL is `beside`; it is, as that is, TypeScript or
 * built. tsx loads TypeScript where it is installed, else Node itself does.
 */
export function workerSource(beside: string, name: string): WorkerSource {
  const isTypeScript = beside.endsWith('.ts');
  const entry = new URL(`./${name}.${isTypeScript ? 'ts' : 'js'}`, beside);
  const tsx = isTypeScript ? resolved('tsx/esm/api') : undefined;
  if (tsx === undefined) return { source: fileURLToPath(entry), options: { eval: false } };
  const load = `import(${JSON.stringify(tsx)}).then(({ register }) => (register(), import(${JSON.stringify(entry.href)})))`;
  // `--import tsx` registers nothing in a worker of Node 20 (seen), and the arguments of the process are not for the
  // thread.
  return { source: load, options: { eval: true, execArgv: [] } };
}

function resolved(specifier: string): string | undefined {
  try {
    return import.meta.resolve(specifier);
  } catch {
    return undefined;
  }
}
