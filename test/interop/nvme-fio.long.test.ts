/** fio verifies a disk that we serve: all block sizes, trims, cuts of the wire, two paths. */
import { testFio } from './nvme-fio-suite.ts';

testFio('6.12', 16);
