/**
 * Goal: an exercise has one right answer, which can be told from what the page shows. Method: hundreds of seeds, each
 * run to its end by the real stack; the proof of its fault holds there, and that of no other.
 */
import { describe, expect, it } from 'vitest';
import { HIDDEN_FAULTS } from '../../../../tools/explorer/playground/exercise-faults.ts';
import {
  asSent,
  type Exercise,
  exerciseOf,
  holds,
  PlaygroundSession,
} from '../../../../tools/explorer/playground/index.ts';

const EXERCISES = Array.from({ length: 300 }, (_, seed) => exerciseOf(seed));

function atItsEnd({ scenario }: Exercise): PlaygroundSession {
  const session = new PlaygroundSession(scenario);
  session.run();
  return session;
}

/** Names of the faults that are proved at the end of an exercise. */
function proved(exercise: Exercise): string[] {
  const session = atItsEnd(exercise);
  return HIDDEN_FAULTS.filter(({ proof }) => proof.every((one) => holds(one, session))).map(({ name }) => name);
}

describe('exercises', () => {
  it('prove the fault that is theirs, and no other', () => {
    const wrong = EXERCISES.flatMap((exercise) => {
      const names = proved(exercise);
      const right = exercise.choices[exercise.right];
      return names.length === 1 && names[0] === right ? [] : [{ seed: exercise.seed, right, names }];
    });
    expect(wrong).toEqual([]);
  });

  it('end, every one', () => {
    for (const exercise of EXERCISES.slice(0, 60)) expect(atItsEnd(exercise).snapshot().end).toBe('silent');
  });

  it('come to every fault, offer different answers, and the right one at every place', () => {
    const names = new Set(EXERCISES.map(({ choices, right }) => choices[right]));
    expect(names.size).toBe(HIDDEN_FAULTS.length);
    for (const { choices } of EXERCISES) expect(new Set(choices).size).toBe(5);
    expect(new Set(EXERCISES.map(({ right }) => right)).size).toBe(5);
  });

  it('are the same for the same seed', () => {
    expect(exerciseOf(0xff_ff_ff_ff)).toEqual(exerciseOf(0xff_ff_ff_ff));
    expect(atItsEnd(exerciseOf(7)).link()).toBe(atItsEnd(exerciseOf(7)).link());
  });

  it('do not show what the network did', () => {
    const session = new PlaygroundSession(exerciseOf(0).scenario);
    session.step();
    session.step();
    session.act('drop');
    session.run();
    const lost = session.packets().find(({ state }) => state === 'lost');
    expect(lost?.fate).toEqual(['drop']);
    expect(lost && asSent(lost)).toMatchObject({ state: 'delivered', fate: [], lossReason: '' });
  });
});
