/**
 * Goal: our own stack keeps every rule on FLUSH and ATOMIC WRITE. Method: the cases of area MPE against a device of
 * ours in virtual time.
 */
import { MPE_CASES } from '../../../../tools/conformance/cases/mpe.ts';
import { describeCases } from './support.ts';

describeCases('MPE', MPE_CASES, {
  // It is answered without data and kept by its PSN alone (transport/replay.ts); rdma_rxe does not count it either.
  'MPE-13': 'a FLUSH takes no responder resources',
  // Our device has both, and none of its kind is without.
  'MPE-15': 'the device has FLUSH and ATOMIC WRITE',
});
