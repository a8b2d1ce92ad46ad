/**
 * Goal: what the analyzer finds between the two interfaces of a bump's capture is, event by event, what the bump says
 * that it has done. Method: bump-run.ts, by seeds; the long test has 1,000 of them.
 */
import { describeRuns } from './bump-run.ts';

describeRuns(2);
