/** Starts a thread of this package's own code, from its sources or from what is built of them. Owns how TypeScript is loaded in a thread. */
import { Worker, type WorkerOptions } from 'node:worker_threads';

/**
 * A thread that runs the module `name` beside the one whose URL is `beside`, and is, as that is, TypeScript or built. TypeScript is loaded
 * by tsx where it is installed, or by Node itself.
 */
export function loadWorker(beside: string, name: string, options: WorkerOptions): Worker {
  const source = beside.endsWith('.ts');
  const entry = new URL(`./${name}.${source ? 'ts' : 'js'}`, beside);
  const tsx = source ? resolved('tsx/esm/api') : undefined;
  if (tsx === undefined) return new Worker(entry, options);
  const load = `import(${JSON.stringify(tsx)}).then(({ register }) => (register(), import(${JSON.stringify(entry.href)})))`;
  // `--import tsx` registers nothing in a worker of Node 20 (seen), and what the process was started with is not for it.
  return new Worker(load, { ...options, eval: true, execArgv: [] });
}

function resolved(specifier: string): string | undefined {
  try {
    return import.meta.resolve(specifier);
  } catch {
    return undefined;
  }
}
