/** A program in a process of its own, as a user runs it: what it shows, and how it ends. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly ended: Promise<Ended>;
  /** Resolves when standard output or standard error has shown the text; rejects when the command ends without it. */
  shows(text: string): Promise<void>;
  /** What standard output has shown by now. */
  shown(): string;
  interrupt(): void;
  signal(signal: NodeJS.Signals): void;
  /** kill -9. */
  kill(): void;
}

/**
 * Starts a program of this project from its sources; `prefix` are words before it, such as those that enter a
 * namespace.
 */
export function startProgram(path: string, args: readonly string[], prefix: readonly string[] = []): Running {
  const [command = '', ...rest] = [...prefix, process.execPath, '--import', 'tsx', path, ...args];
  const child = spawn(command, rest, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  const outputs = { stdout: '', stderr: '' };
  const watchers = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      outputs[name] += text;
      for (const watcher of watchers) watcher();
    });
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...outputs }));
  });
  const hasShown = (text: string): boolean => outputs.stdout.includes(text) || outputs.stderr.includes(text);
  return {
    ended,
    shows: (text) => {
      return new Promise((resolve, reject) => {
        const look = (): void => {
          if (hasShown(text)) resolve();
        };
        watchers.add(look);
        look();
        void ended.then(() => reject(new Error(`never shown: ${text}\n${outputs.stdout}${outputs.stderr}`)));
      });
    },
    shown: () => outputs.stdout,
    interrupt: () => void child.kill('SIGINT'),
    signal: (signal) => void child.kill(signal),
    kill: () => void child.kill('SIGKILL'),
  };
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
