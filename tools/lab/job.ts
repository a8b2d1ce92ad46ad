/** Commands of a guest as its users see them: one that has ended, and one that runs. Types only. */

/** A command that has ended. */
export interface RunResult {
  /** Exit code. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that runs in the background of a guest. */
export interface GuestJob {
  /** What it has written so far. Programs keep output back (4 KiB, typically) when it does not go to a terminal. */
  output(): Promise<{ stdout: string; stderr: string }>;
  /** Waits for its end, at most `timeoutMs` (then `ERR_ROCE_TIMEOUT`, and it still runs). */
  wait(timeoutMs: number): Promise<RunResult>;
  /** Ends it and all it started. */
  kill(signal?: 'TERM' | 'KILL' | 'INT'): Promise<void>;
}
