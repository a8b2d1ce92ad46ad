/** The keys of the page, as a dialog. Owns its text. */
import { useLayoutEffect, useRef } from 'preact/hooks';

/** The dialog. */
export function Help({ onClose }: { readonly onClose: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => button.current?.focus(), []);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape and the button close it too
    <div class="overlay" role="presentation" onClick={onClose}>
      <div
        class="dialog"
        role="dialog"
        aria-modal="true"
        aria-label="Keys"
        onClick={(event) => event.stopPropagation()}
        onKeyDown={() => undefined}
      >
        <h2>Keys</h2>
        <dl>{KEYS.map(([key, what]) => [<dt key={key}>{key}</dt>, <dd key={what}>{what}</dd>])}</dl>
        <button type="button" ref={button} onClick={onClose}>
          Close
        </button>
      </div>
    </div>
  );
}

const KEYS: readonly (readonly [string, string])[] = [
  ['1 to 6', 'Views: overview, packets, ladder, sequence, rates, playground'],
  ['j k, ↓ ↑', 'Next and previous packet'],
  ['PgDn PgUp', 'A page further or back'],
  ['Home End', 'First and last packet'],
  ['g', 'From a repetition to what it refers to'],
  ['Menu, ⇧F10', 'What can be done with a packet or field: filter, leave out, copy, save'],
  ['+ - 0', 'Ladder and graphs: closer, further away, as at first'],
  ['← →', 'Graphs: earlier, later; on an end of the strip of time: move it'],
  ['/', 'To the filter'],
  ['Esc', 'Out of the filter, or out of this'],
  ['?', 'This'],
];
