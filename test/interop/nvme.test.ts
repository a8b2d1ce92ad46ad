/** A stock Linux 6.12 mounts a disk that we serve; the other kernels and two paths are in `nvme.long.test.ts`. */
import { testMount } from './nvme-suite.ts';

testMount('6.12');
