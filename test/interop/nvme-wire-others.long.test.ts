/** NVMe on bad wires with an older and a newer kernel than `nvme-wire.long.test.ts` has. */
import { BAD_WIRES, testBadWires } from './nvme-wire-suite.ts';

testBadWires('6.1', BAD_WIRES, 1);
testBadWires('sid', BAD_WIRES, 1);
