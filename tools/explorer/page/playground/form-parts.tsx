/** The fields of the playground's forms. Own how they look; what a value means is the form's. */

interface ChoiceProps<T extends string> {
  readonly name: string;
  readonly value: T | undefined;
  readonly choices: readonly (T | undefined)[];
  readonly onChange: (value: T) => void;
}

/** One of several. */
export function Choice<T extends string>({ name, value, choices, onChange }: ChoiceProps<T>) {
  return (
    <label class="row-label">
      <span>{name}</span>
      <select
        value={value ?? ''}
        onChange={(event) => {
          const chosen = choices.find((choice) => choice === event.currentTarget.value);
          if (chosen !== undefined) onChange(chosen);
        }}
      >
        {choices.map((choice) => (
          <option key={choice} value={choice ?? ''}>
            {choice === '' ? 'none' : choice}
          </option>
        ))}
      </select>
    </label>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: number;
  /** Default: no bound above. */
  readonly max?: number;
  readonly onChange: (value: number) => void;
}

/** A number, with the bounds that it has by itself; whoever checks the whole says what else is wrong. */
export function Figure({ name, value, max, onChange }: FigureProps) {
  return (
    <label class="row-label">
      <span>{name}</span>
      <input
        type="number"
        min={0}
        max={max}
        step="any"
        value={value}
        onChange={(event) => {
          const figure = event.currentTarget.valueAsNumber;
          if (Number.isFinite(figure)) onChange(figure);
        }}
      />
    </label>
  );
}
