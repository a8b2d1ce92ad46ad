/** A disk that we serve, in the other kernels, and on two paths. Bad wires are in `nvme-wire.long.test.ts`. */
import { testMount, testTwoPaths } from './nvme-suite.ts';

testMount('6.1');
testMount('sid');
testTwoPaths('6.12');
