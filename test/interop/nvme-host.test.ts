// Goal: our NVMe host works with the target of a stock kernel. Method: nvme-host-suite.ts, on Linux 6.12.
import { testHostAgainst } from './nvme-host-suite.ts';

testHostAgainst('6.12');
