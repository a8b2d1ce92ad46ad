/** The scenes of symptoms of upper-layer protocols. Owns the list, nothing else. */
import { NVME_NO_COMPLETION_SCENES } from './nvme-no-completion.ts';
import type { Scene } from './scene.ts';

/** All of them. */
export const SCENES_F: readonly Scene[] = NVME_NO_COMPLETION_SCENES;
