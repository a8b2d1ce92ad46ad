/**
 * Predict, then see: what a lesson asks before a stop, and at the stop what became of the answer. Owns no state: what
 * was said is the playground's, and stands in its address.
 */
import type { Prediction } from '../../playground/index.ts';

interface AskedProps {
  readonly prediction: Prediction;
  /** Index of the choice; undefined before one is made. */
  readonly said: number | undefined;
  readonly onSay: (choice: number) => void;
}

/** The question, at the stop before. Nothing depends on an answer: one may go on without. */
export function Asked({ prediction: { ask, choices }, said, onSay }: AskedProps) {
  return (
    <fieldset class="prediction" data-testid="prediction">
      <legend>What do you expect?</legend>
      <p>{ask}</p>
      {choices.map((choice, index) => (
        <label key={choice}>
          <input type="radio" name="prediction" checked={said === index} onChange={() => onSay(index)} /> {choice}
        </label>
      ))}
      {said === undefined ? null : <p class="quiet">Next or Step shows it.</p>}
    </fieldset>
  );
}

/** The answer, at the stop behind. */
export function Answered({ prediction: { choices, right, because }, said }: Omit<AskedProps, 'onSay'>) {
  const verdict = said === undefined ? '' : said === right ? 'Right. ' : `Not "${choices[said]}" `;
  return (
    <p class={`prediction ${said === right ? 'right' : ''}`} data-testid="predicted" role="status">
      <b>{verdict}</b>
      {said === right ? null : <>{choices[right]} </>}
      {because}
    </p>
  );
}
