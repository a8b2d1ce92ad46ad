/** What both kinds of ladder are made of: the head, shapes, the rows in words, the legend. Owns how shapes become SVG. */
import type { LadderShape, LaidRow, railsOf } from '../ladder/layout.ts';
import { LETTERS, type Tone } from '../ladder/rows.ts';

interface HeadProps {
  readonly rails: ReturnType<typeof railsOf>;
  readonly left: string;
  readonly right: string;
  /** Unit of the times. */
  readonly clock: string;
  /** What is said between the names of the ends. */
  readonly children?: preact.ComponentChildren;
}

/** Names of the rails. */
export function LadderHead({ rails, left, right, clock, children }: HeadProps) {
  return (
    <div
      class="ladder-head"
      title="Time since the first packet of the capture. PSNs: counted from the first of each space."
    >
      <span class="quiet" style={{ width: `${rails.left - 10}px` }}>
        {clock}
      </span>
      <span>{left}</span>
      <span class="quiet ladder-about">{children}</span>
      <span class="ladder-right">{right}</span>
    </div>
  );
}

/** A shape as SVG. */
export function drawnShape(shape: LadderShape, key: number) {
  switch (shape.kind) {
    case 'line':
      return <line key={key} class={shape.class} x1={shape.x1} y1={shape.y1} x2={shape.x2} y2={shape.y2} />;
    case 'path':
      return <path key={key} class={shape.class} d={shape.d} />;
    case 'text': {
      const { turn, x, y } = shape;
      const turned = turn === undefined ? {} : { transform: `rotate(${turn.toFixed(2)} ${x} ${y})` };
      return (
        <text key={key} class={shape.class} x={x} y={y} text-anchor={shape.anchor} {...turned}>
          {shape.text}
        </text>
      );
    }
  }
}

/** The same in words, for screen readers. */
export function SpokenRows({ rows }: { readonly rows: readonly LaidRow[] }) {
  return (
    <ul class="spoken">
      {rows.map((row, index) => (
        <li key={index}>{row.text}</li>
      ))}
    </ul>
  );
}

/** What colours and letters mean. */
export function LadderLegend() {
  return (
    <>
      <ul class="tone-legend" aria-label="Colours">
        {TONES.map(([tone, meaning]) => (
          <li key={tone}>
            <svg class="ladder-svg" width="22" height="8" aria-hidden="true">
              <line class={`arrow ${tone}`} x1="0" x2="22" y1="4" y2="4" />
            </svg>
            {meaning}
          </li>
        ))}
      </ul>
      <details class="legend">
        <summary>Letters</summary>
        <dl>
          {LETTERS.map(([, letters, meaning]) => [<dt key={letters}>{letters}</dt>, <dd key={meaning}>{meaning}</dd>])}
          <dt>✗</dt>
          <dd>lost, or dropped by the receiver</dd>
        </dl>
      </details>
    </>
  );
}

const TONES: readonly (readonly [Tone, string])[] = [
  ['request', 'request'],
  ['response', 'response'],
  ['ack', 'ACK'],
  ['nak', 'NAK'],
  ['again', 'again, late'],
  ['bad', 'lost, wrong'],
  ['notice', 'CNP, note'],
];
