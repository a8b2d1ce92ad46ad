/** A disk that we serve, in the other kernels, with shared receives, on two paths, and for a host that vanishes. Bad wires are in `nvme-wire.long.test.ts`. */
import { testMount, testTwoPaths, testVanished } from './nvme-suite.ts';

testMount('6.1');
testMount('sid', 16);
testTwoPaths('6.12');
testVanished('6.12');
