/**
 * An exercise: a connection that has gone wrong, and the answers to choose from. Owns no state: seed and answer are the
 * playground's, and stand in its address.
 */
import type { Exercise } from '../../playground/index.ts';
import type { Play } from './use-session.ts';

/** Shows the exercise that is being done. */
export function ExercisePanel({ play, exercise }: { readonly play: Play; readonly exercise: Exercise }) {
  const { answer, answerExercise, train } = play;
  const { choices, right, because, seed } = exercise;
  return (
    <>
      <h2>Find the fault, exercise {seed}</h2>
      <p class="quiet">
        A and B had a fault, and this is what they sent. Go through it, look at packets, counters and completions. What
        the network did on the way is not shown.
      </p>
      <fieldset class="prediction" data-testid="exercise">
        <legend>What was it?</legend>
        {choices.map((choice, index) => (
          <label key={choice}>
            <input type="radio" name="exercise" checked={answer === index} onChange={() => answerExercise(index)} />{' '}
            {choice}
          </label>
        ))}
      </fieldset>
      {answer === undefined ? null : (
        <p class={`prediction ${answer === right ? 'right' : ''}`} data-testid="verdict" role="status">
          {answer === right ? (
            <>
              <b>Right.</b> {because}
            </>
          ) : (
            <b>No: look again.</b>
          )}
        </p>
      )}
      <div class="buttons">
        <button type="button" class={answer === right ? 'strong' : ''} onClick={() => train(seed + 1)}>
          Next exercise
        </button>
      </div>
    </>
  );
}
