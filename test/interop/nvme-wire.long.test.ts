/** NVMe in both roles on wires that lose, reorder, damage and repeat frames, and that are cut. */
import { BAD_WIRES, testBadWires } from './nvme-wire-suite.ts';

testBadWires('6.12', BAD_WIRES, 4);
