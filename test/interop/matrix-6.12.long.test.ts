/** Stock programs against ours on Linux 6.12; goal and method: matrix-suite.ts. */
import { describeMatrix } from './matrix-suite.ts';

describeMatrix('6.12');
