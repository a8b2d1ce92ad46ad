// Goal: our NVMe host works with the targets of an older and of a newer kernel. Method: nvme-host-suite.ts.
import { testHostAgainst } from './nvme-host-suite.ts';

testHostAgainst('6.1');
testHostAgainst('sid');
