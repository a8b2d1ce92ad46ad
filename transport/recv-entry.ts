/** One posted receive request: its id, and the memory that a message is placed in. */
import { SegmentList } from './segments.ts';

export class RecvEntry {
  wrId = 0;
  readonly segments = new SegmentList();
}
