/**
 * Scenes: captures that show one symptom, and similar captures that must not be mistaken for it.
 *
 * Owns what a scene is and how it is run: a script on a `Stage`, the simulated network, whose capture is the result.
 * The same scene gives the same bytes each time. Reads no clock and touches no file; runs in a browser.
 */
import { Stage, type StageOptions } from './stage.ts';

/** A capture on demand. */
export interface Scene {
  /** Id of the symptom it is about. */
  readonly symptom: string;
  /** Kebab case, unique among all scenes. */
  readonly name: string;
  /**
   * Whether the symptom is there. If not, the scene is a similar one, in which no error and no warning is right but
   * those of `alsoFinds`.
   */
  readonly triggers: boolean;
  /** Ids of other findings, errors or warnings, that are right here as well. */
  readonly alsoFinds?: readonly string[];
  /** What happens, in a sentence or two. */
  readonly about: string;
  /** A pcapng file. */
  make(): Promise<Uint8Array> | Uint8Array;
}

/** What happens in a scene: actions on a stage, awaited in virtual time. */
export type Script = (stage: Stage) => Promise<void>;

/**
 * Runs a script on a new stage until it ends, and a little longer so that frames in transit arrive.
 *
 * @returns the capture, a pcapng file
 */
export async function play(options: StageOptions, script: Script): Promise<Uint8Array> {
  const stage = new Stage(options);
  await stage.world.run(script(stage));
  stage.world.runFor(AFTERMATH_NS);
  return stage.takeCapture();
}

/** Long against every way on the simulated network, short against every timeout. */
const AFTERMATH_NS = 50_000;
