/**
 * A program with the shim before it. Owns its environment, the signals that are passed on to it, and its exit code as
 * a shell would give it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { RoceError } from 'rocev2/packets';

export interface ShimPlace {
  /** Path of the shim's library. */
  readonly shim: string;
  /** Of the server's socket. */
  readonly socket: string;
  /** When it aborts, programs are ended, with what they have started. Default: never. */
  readonly until?: AbortSignal;
}

/** A program that has been started. */
export interface Child {
  readonly pid: number;
  /**
   * Its exit code: 128 and the number of a signal that ended it. Rejects with `RoceError` when it cannot be started.
   */
  readonly ended: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

/** Starts a program; it has our standard streams. */
export function startUnderShim(command: string, args: readonly string[], { shim, socket, until }: ShimPlace): Child {
  const { LD_PRELOAD: others = '' } = process.env;
  const preload = others === '' ? shim : `${shim}:${others}`;
  const child = spawn(command, args, {
    stdio: 'inherit',
    env: { ...process.env, LD_PRELOAD: preload, ROCE_UVERBS: socket },
    detached: until !== undefined,
  });
  const endGroup = (): void => endGroupOf(child);
  until?.addEventListener('abort', endGroup);
  const stopPassing = passSignalsTo(child);
  const ended = exitOf(child, command).finally(() => {
    stopPassing();
    until?.removeEventListener('abort', endGroup);
  });
  return {
    pid: child.pid ?? 0,
    ended,
    kill: (signal) => {
      child.kill(signal);
    },
  };
}

/** Programs that wait for memory to change take no notice of SIGTERM alone, and those that clean up get a while. */
function endGroupOf({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  const send = (signal: NodeJS.Signals): void => {
    try {
      process.kill(-pid, signal);
    } catch {
      // The last of them has ended.
    }
  };
  send('SIGTERM');
  setTimeout(() => send('SIGKILL'), GRACE_MS);
}

function exitOf(child: ChildProcess, command: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'ENOENT' ? 'there is no such program' : cause.message;
      reject(new RoceError('ERR_ROCE_ARGUMENT', `${command}: ${why}`, { cause }));
    });
    child.once('exit', (code, signal) => resolve(code ?? SIGNAL_BASE + (constants.signals[signal ?? 'SIGKILL'] ?? 0)));
  });
}

/** Ctrl-C at a terminal reaches the program by itself, as it is in the same group; we outlive it. */
function passSignalsTo(child: ChildProcess): () => void {
  const atTerminal = process.stdin.isTTY === true;
  const pass = (signal: NodeJS.Signals): void => {
    if (!(atTerminal && TYPED.includes(signal))) child.kill(signal);
  };
  for (const signal of PASSED) process.on(signal, pass);
  return () => {
    for (const signal of PASSED) process.off(signal, pass);
  };
}

const TYPED: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT'];
const PASSED: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'];
const SIGNAL_BASE = 128;
const GRACE_MS = 1000;
