/** What readers of lines tell each other. Owns the shape only. */
import type { SnapshotBuilder } from '../snapshot.ts';

/** What the lines before have said about the next ones. */
export interface TextState {
  readonly into: SnapshotBuilder;
  /** The interface that the lines are about; empty where none was named. */
  netdev: string;
  /** The port of a `rdma statistic` whose pairs go on in the next lines. */
  rdmaPort: string;
  /** Priorities in the order of the columns of `mlnx_qos`. */
  columns: readonly number[];
  /** Reads the rows of a CSV table that has begun. */
  csv: ((line: string) => boolean) | undefined;
}
