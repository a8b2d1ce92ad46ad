/** How benches run a program to its end. Owns where it runs, the root of the clone, and what its failure says. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What a program prints on either stream. Throws when it fails. */
export async function outputOf(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const child = spawn(program, args, { cwd: ROOT, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  await once(child, 'close');
  if (child.exitCode !== 0) throw new Error(`${program} ended with ${child.exitCode}: ${printed.trim()}`);
  return printed;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
