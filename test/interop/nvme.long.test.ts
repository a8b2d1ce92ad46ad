/** A disk that we serve, in the other kernels, and on bad days: loss, cuts, two paths. */
import { testHardships, testMount } from './nvme-suite.ts';

testMount('6.1');
testMount('sid');
testHardships('6.12');
