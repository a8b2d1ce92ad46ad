/** What a property plays on. Types only. */
import type { Profile } from '../model/profiles.ts';
import type { Subject } from './subject.ts';
import type { TrialEvent } from './trial.ts';

/** What a property is compared with. */
export interface TrialTarget {
  readonly subject: Subject;
  readonly profile: Profile;
}

/** Where a try writes down what happens, so that the record is there when the device crashes. */
export interface TrialContext extends TrialTarget {
  readonly happenings: TrialEvent[];
}
