/** The properties: what is generated and how it is played. */
import type fc from 'fast-check';
import { answers, losses } from './requester-plans.ts';
import { tryAnswers, tryLoss } from './requester-trials.ts';
import { duplicates, faults, type ResponderPlan, type SubjectLimits, sequences } from './responder-steps.ts';
import { TRIAL_MTU, tryResponder } from './responder-trial.ts';
import type { TrialContext, TrialTarget } from './stage.ts';
import type { Trial } from './trial.ts';

export interface Property {
  readonly name: string;
  /** One line. */
  readonly says: string;
  readonly role: 'responder' | 'requester';
  /** It takes an agent that posts work on the device's host. */
  readonly needsHostControl: boolean;
  readonly plans: (against: TrialTarget) => fc.Arbitrary<unknown>;
  readonly play: (stage: TrialContext, plan: unknown) => Promise<Trial>;
}

/** Ties what is generated to what plays it. */
function property<Plan>(
  parts: Omit<Property, 'plans' | 'play'> & {
    readonly plans: (against: TrialTarget) => fc.Arbitrary<Plan>;
    readonly play: (stage: TrialContext, plan: Plan) => Promise<Trial>;
  },
): Property {
  // The plans of a property are the only ones it is ever given.
  return { ...parts, play: (stage, plan) => parts.play(stage, plan as Plan) };
}

const responder = (
  name: string,
  says: string,
  plans: (limits: SubjectLimits) => fc.Arbitrary<ResponderPlan>,
): Property =>
  property({
    ...{ name, says, role: 'responder', needsHostControl: false },
    plans: (against) => plans(limitsOf(against)),
    play: tryResponder,
  });

function limitsOf({ subject, profile }: TrialTarget): SubjectLimits {
  const { atomicWrite, atomics, hostControl } = subject;
  const flush = subject.flush && !profile.switches.includes('flush-dropped');
  return { mtu: TRIAL_MTU, flush, atomicWrite, atomics, posts: hostControl, fragile: profile.fragile };
}

/** A device that is stuck permanently after a fence shows nothing else any more. */
const fences = ({ profile }: TrialTarget): boolean => !profile.switches.includes('fenced-retry-stuck');

/** A plain ACK ends its ATOMICs (REQ-05): a legal one that comes late does so without their value. */
const misled = ({ profile }: TrialTarget): boolean => profile.switches.includes('ack-in-read-completes');

/** It accepts an ACK of what it has not sent yet (REQ-09): on a real wire what that ACK completes is unknown. */
const believing = ({ profile }: TrialTarget): boolean => profile.switches.includes('ack-beyond-completes');

export const PROPERTIES: readonly Property[] = [
  responder(
    'responder-sequences',
    'a responder answers any sequence of requests, right and wrong, as the model does',
    sequences,
  ),
  responder('responder-duplicates', 'a responder executes nothing twice and answers what is repeated', duplicates),
  responder(
    'responder-faults',
    'a responder refuses one fault in a legal run with the right NAK and nothing else',
    faults,
  ),
  property({
    name: 'requester-answers',
    says: 'a requester sends what was posted, repeats what it has a reason to repeat, and completes nothing without evidence',
    ...{ role: 'requester', needsHostControl: true },
    plans: (against) => answers(TRIAL_MTU, against.subject.atomics, fences(against), !believing(against)),
    play: tryAnswers,
  }),
  property({
    name: 'requester-loss',
    says: 'a requester gets all of its work done, once and in order, whatever the wire loses, doubles and delays',
    ...{ role: 'requester', needsHostControl: true },
    plans: (against) => losses(TRIAL_MTU, against.subject.atomics && !misled(against), fences(against)),
    play: tryLoss,
  }),
];
