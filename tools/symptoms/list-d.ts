/** The scenes of symptoms of queue pairs over their lives. Owns the list, nothing else. */
import { PEER_RESTARTED_SCENES } from './peer-restarted.ts';
import type { Scene } from './scene.ts';
import { SLOW_RESPONDER_SCENES } from './slow-responder.ts';
import { UC_LOSS_SCENES } from './uc-loss.ts';
import { WRONG_STARTING_PSN_SCENES } from './wrong-starting-psn.ts';

/** All of them, in the order of the symptoms. */
export const SCENES_D: readonly Scene[] = [
  ...WRONG_STARTING_PSN_SCENES,
  ...SLOW_RESPONDER_SCENES,
  ...UC_LOSS_SCENES,
  ...PEER_RESTARTED_SCENES,
];
