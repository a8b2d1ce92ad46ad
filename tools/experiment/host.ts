/**
 * What the runner needs of a host, whatever its kind: a port for a wire, commands, counters, an end. No kind depends on
 * cases.
 */
import type { RateState } from 'rocev2/transport';
import type { RunResult } from '../lab/guest.ts';
import type { CablePort } from './port.ts';

export interface ExperimentHost {
  /** Our end of its cable. */
  readonly port: CablePort;
  /** What it is, for the report: `Linux 6.12.107+deb13-amd64 with rdma_rxe`. */
  readonly description: string;
  /** Starts a command. Never rejects: what cannot be started has ended with exit code 127. */
  start(command: string): RunningCommand;
  /** Resolves when a program on the host accepts RDMA or TCP connections on a port. Rejects with ERR_ROCE_TIMEOUT. */
  listening(port: number, timeoutMs: number): Promise<void>;
  /** How fast its queue pairs may send now; none where nothing reacts to congestion, or it cannot be seen. */
  rates(): readonly QueuePairRate[];
  /** Counters as they are now, by name; none where a host has none. */
  counters(): Readonly<Record<string, number>>;
  /** Ends the host and all that runs on it. May be called more than once. */
  stop(): Promise<void>;
}

export interface QueuePairRate extends RateState {
  readonly qpn: number;
}

export interface RunningCommand {
  /** Resolves when it has ended, with its exit code and all it has printed. */
  readonly ended: Promise<RunResult>;
  /** What it has printed so far. */
  output(): Promise<{ readonly stdout: string; readonly stderr: string }>;
  /** Asks it to end in good order. */
  interrupt(): Promise<void>;
  /** Ends it. */
  kill(): Promise<void>;
}

/** Exit code of the shell for a command that is not there. */
export const EXIT_NOT_FOUND = 127;
