/**
 * Goal: what the analyzer finds between the two interfaces of a bump's capture is, event by event, what the bump says
 * that it has done. Method: bump-run.ts, by seeds; the first 50 are those of the short test.
 */
import { describeRuns } from './bump-run.ts';

describeRuns(40);
