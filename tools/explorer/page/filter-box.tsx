/**
 * The box that a filter is typed into, with completions.
 *
 * Owns the text while it is typed; the filter itself changes with Enter, or by leaving the box.
 */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Completion, FilterResult } from '../engine/protocol.ts';
import type { Client } from './client.ts';
import { plural } from './words.ts';

interface Props {
  readonly client: Client;
  readonly text: string;
  readonly result: FilterResult | undefined;
  readonly packets: number;
  /** Neither a filter nor a time: all packets are shown. */
  readonly all: boolean;
  readonly onFilter: (text: string) => void;
  /** What else stands in the line. */
  readonly children?: preact.ComponentChildren;
}

/** The box. */
export function FilterBox({ client, text, result, packets, all, onFilter, children }: Props) {
  const [typed, setTyped] = useState(text);
  const [words, setWords] = useState<readonly Completion[]>([]);
  const [chosen, setChosen] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  const asked = useRef(0);
  useLayoutEffect(() => setTyped(text), [text]);
  const ask = (value: string): void => {
    setTyped(value);
    setChosen(-1);
    const cursor = input.current?.selectionStart ?? value.length;
    const own = ++asked.current;
    // An answer for a text that has changed since is of no use.
    client.look('complete', { text: value, cursor }, (found) => asked.current === own && setWords(found));
  };
  const close = (): void => {
    asked.current++;
    setWords([]);
    setChosen(-1);
  };
  const take = ({ text: word, from, to }: Completion): void => {
    setTyped(`${typed.slice(0, from)}${word}${typed.slice(to)}`);
    close();
    input.current?.focus();
  };
  const apply = (): void => {
    close();
    onFilter(typed.trim());
  };
  const keys = (event: KeyboardEvent): void => {
    const word = words[chosen];
    if (event.key === 'Enter' && word === undefined) apply();
    else if (event.key === 'Enter' || (event.key === 'Tab' && words.length > 0)) {
      const wanted = word ?? words[0];
      if (wanted !== undefined) take(wanted);
    } else if (event.key === 'ArrowDown' && words.length > 0) setChosen((chosen + 1) % words.length);
    else if (event.key === 'ArrowUp' && words.length > 0) setChosen((chosen + words.length - 1) % words.length);
    else if (event.key === 'Escape') {
      if (words.length > 0) close();
      else input.current?.blur();
    } else return;
    event.preventDefault();
  };
  const fault = result?.fault ?? null;
  return (
    <div class="filter">
      <input
        id="filter"
        ref={input}
        value={typed}
        placeholder="Filter, as in: nak or retransmission and qp 0x11"
        aria-label="Filter"
        aria-invalid={fault !== null}
        autoComplete="off"
        spellcheck={false}
        role="combobox"
        aria-expanded={words.length > 0}
        aria-controls="completions"
        aria-activedescendant={chosen >= 0 ? `completion-${chosen}` : undefined}
        onInput={(event) => ask(event.currentTarget.value)}
        onKeyDown={keys}
        onBlur={close}
      />
      <span class="quiet" data-testid="shown">
        {all || result === undefined ? plural(packets, 'packet') : `${result.shown} of ${plural(packets, 'packet')}`}
      </span>
      {text === '' ? null : (
        <button type="button" onClick={() => onFilter('')}>
          Clear
        </button>
      )}
      {children}
      {fault === null ? null : (
        <span class="fault" role="alert" data-testid="fault">
          {fault.sentence}
        </span>
      )}
      <Words words={words} chosen={chosen} onTake={take} />
    </div>
  );
}

interface WordsProps {
  readonly words: readonly Completion[];
  readonly chosen: number;
  readonly onTake: (word: Completion) => void;
}

function Words({ words, chosen, onTake }: WordsProps) {
  if (words.length === 0) return null;
  return (
    <div class="completions" id="completions" role="listbox" aria-label="Words">
      {words.map((word, index) => (
        // biome-ignore lint/a11y/useFocusableInteractive: the box keeps the focus
        <div
          key={word.text}
          id={`completion-${index}`}
          role="option"
          aria-selected={index === chosen}
          onMouseDown={(event) => {
            event.preventDefault();
            onTake(word);
          }}
        >
          {word.text} <span class="quiet">{word.meaning}</span>
        </div>
      ))}
    </div>
  );
}
