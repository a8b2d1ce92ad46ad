// Goal: in-band authentication with stock Linux, as host and as target. Method: nvme-auth-suite.ts, on the kernels of
// the lab that are built with it: 6.1 is not.
import { testAuthenticatedHost, testAuthenticatedMount, testHostWithout } from './nvme-auth-suite.ts';

testAuthenticatedMount('6.12');
testAuthenticatedHost('6.12');
testAuthenticatedMount('sid');
testAuthenticatedHost('sid');
testHostWithout('6.1');
