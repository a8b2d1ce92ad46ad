/**
 * The ladder of a conversation, at any length: only the visible part is drawn.
 *
 * Owns scrolling, selection and keys; `ladder/layout.ts` owns positions.
 */
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { LadderWindow } from '../engine/protocol.ts';
import { type LadderShape, type LaidRow, layoutLadder, ROW_HEIGHT, railsOf } from '../ladder/layout.ts';
import { LETTERS } from '../ladder/rows.ts';
import { ConversationPicker, chosenConversation } from './conversation-picker.tsx';
import { memo } from './memo.ts';
import { isTyping, type ViewProps } from './view.ts';
import { usePart, useScrolling } from './windowed.ts';
import { qpn } from './words.ts';

/** The view. */
export function Ladder({ client, news, place, go }: ViewProps) {
  const report = chosenConversation(news, place.conversation);
  if (report === undefined) {
    return <p class="prose quiet">{news.done ? 'No RoCEv2 conversation in this file.' : 'Reading...'}</p>;
  }
  const [left, right] = report.ends;
  return (
    <div class="ladder-view">
      <div class="toolbar">
        <ConversationPicker
          news={news}
          conversation={report.id}
          onChoose={(conversation) => go({ conversation, packet: 0 })}
        />
        <button
          type="button"
          disabled={place.packet === 0}
          onClick={() => go({ tab: 'packets', filter: '', conversation: report.id })}
        >
          Bytes of packet {place.packet > 0 ? place.packet : ''}
        </button>
        <Legend />
      </div>
      <LadderBox
        key={report.id}
        client={client}
        news={news}
        place={place}
        go={go}
        conversation={report.id}
        left={`${left.address} ${qpn(left.qpn)}`}
        right={`${right.address} ${qpn(right.qpn)}`}
      />
    </div>
  );
}

interface BoxProps extends ViewProps {
  readonly conversation: number;
  readonly left: string;
  readonly right: string;
}

function LadderBox({ client, news, place, go, conversation, left, right }: BoxProps) {
  const [total, setTotal] = useState(0);
  const origin = useRef(0);
  const { box, height, first, visible, shift, width, reveal } = useScrolling<HTMLElement>(total, ROW_HEIGHT);
  const ask = async (from: number, wanted: number): Promise<LadderWindow> => {
    const answer = await client.ask('ladder', { conversation, from, count: wanted });
    origin.current = answer.originNs;
    setTotal(answer.total);
    return answer;
  };
  const count = visible + 2 * SPARE;
  const part = usePart(ask, Math.max(0, first - SPARE), count, `${conversation} ${news.done}`);
  const drawn = useMemo(() => layoutLadder(part.rows, { width, originNs: origin.current }, part.from), [part, width]);
  const move = useLadderPlace({ client, conversation, place, go, total, reveal });
  useLadderKeys(move, () => go({ tab: 'packets', filter: '', conversation }));
  const rails = railsOf(width);
  return (
    <>
      <LadderHead width={width} left={left} right={right} />
      <section
        class="ladder"
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and takes the keys
        tabIndex={0}
        aria-label={`Ladder of conversation ${conversation}`}
        data-testid="ladder"
      >
        <div style={{ height: `${height}px`, position: 'relative' }}>
          <svg
            class="ladder-svg"
            width={width}
            height={(part.rows.length + 1) * ROW_HEIGHT}
            style={{ top: `${part.from * ROW_HEIGHT + shift}px` }}
            viewBox={`0 ${part.from * ROW_HEIGHT} ${width} ${(part.rows.length + 1) * ROW_HEIGHT}`}
            aria-hidden="true"
          >
            {[rails.left, rails.right].map((x) => (
              <line
                key={x}
                class="rail"
                x1={x}
                x2={x}
                y1={part.from * ROW_HEIGHT}
                y2={(part.from + part.rows.length) * ROW_HEIGHT}
              />
            ))}
            {drawn.map((row, index) => (
              <DrawnRow
                // Rungs that leave on one side come back on the other.
                key={(part.from + index) % Math.max(count, drawn.length)}
                row={row}
                width={width}
                selected={row.number > 0 && row.number === place.packet}
                onSelect={(packet) => go({ packet, conversation })}
              />
            ))}
          </svg>
          <SpokenRows rows={drawn} />
        </div>
      </section>
    </>
  );
}

interface LadderPlace extends Pick<BoxProps, 'client' | 'conversation' | 'place' | 'go'> {
  readonly total: number;
  readonly reveal: (line: number) => void;
}

/** Keeps the chosen packet in sight; gives what moves the choice by so many packets. */
function useLadderPlace({ client, conversation, place, go, total, reveal }: LadderPlace) {
  const show = useRef(reveal);
  show.current = reveal;
  const selected = useRef(place.packet);
  selected.current = place.packet;
  const moves = useRef(Promise.resolve());
  useEffect(() => {
    if (place.packet === 0 || total === 0) return undefined;
    let stale = false;
    client.look('ladderLine', { conversation, number: place.packet }, (answer) => {
      if (!stale) show.current(answer);
    });
    return () => {
      stale = true;
    };
  }, [client, conversation, place.packet, total]);
  const step = useCallback(
    async (by: number): Promise<void> => {
      const number = selected.current;
      const line = number === 0 ? -1 : await client.ask('ladderLine', { conversation, number });
      // Lines that are no packets are stepped over.
      for (let at = line + by; at >= 0 && at < total; at += Math.sign(by)) {
        const { rows } = await client.ask('ladder', { conversation, from: at, count: 1 });
        const row = rows[0];
        if (row?.kind !== 'packet') continue;
        selected.current = row.packet.number;
        go({ packet: row.packet.number, conversation });
        return;
      }
    },
    [client, conversation, go, total],
  );
  // One after the other: each begins where the one before has led, however fast keys follow.
  return useCallback(
    (by: number): void => {
      moves.current = moves.current.then(() => step(by)).catch(() => undefined);
    },
    [step],
  );
}

function LadderHead({ width, left, right }: { readonly width: number; readonly left: string; readonly right: string }) {
  const rails = railsOf(width);
  return (
    <div
      class="ladder-head"
      title="Time: microseconds since the first packet of the conversation. PSNs: counted from the first of each space."
    >
      <span class="quiet" style={{ width: `${rails.left - 10}px` }}>
        us
      </span>
      <span>{left}</span>
      <span class="ladder-right">{right}</span>
    </div>
  );
}

interface DrawnRowProps {
  readonly row: LaidRow;
  readonly width: number;
  readonly selected: boolean;
  readonly onSelect: (number: number) => void;
}

const DrawnRow = memo(function DrawnRow({ row, width, selected, onSelect }: DrawnRowProps) {
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the ladder as a whole takes the keys
    <g
      class={`rung${selected ? ' selected' : ''}${row.number > 0 ? ' packet-rung' : ''}`}
      data-number={row.number}
      onClick={() => row.number > 0 && onSelect(row.number)}
      onKeyDown={() => undefined}
    >
      <rect class="rung-back" x={0} y={row.top} width={width} height={ROW_HEIGHT} />
      {row.shapes.map((shape, index) => drawn(shape, index))}
    </g>
  );
}, sameRung);

/** Rows come anew with each answer: what they say counts. */
function sameRung(one: DrawnRowProps, other: DrawnRowProps): boolean {
  return (
    one.row.top === other.row.top &&
    one.row.text === other.row.text &&
    one.width === other.width &&
    one.selected === other.selected
  );
}

function drawn(shape: LadderShape, key: number) {
  switch (shape.kind) {
    case 'line':
      return <line key={key} class={shape.class} x1={shape.x1} y1={shape.y1} x2={shape.x2} y2={shape.y2} />;
    case 'path':
      return <path key={key} class={shape.class} d={shape.d} />;
    case 'text':
      return (
        <text key={key} class={shape.class} x={shape.x} y={shape.y} text-anchor={shape.anchor}>
          {shape.text}
        </text>
      );
  }
}

/** The same in words, for screen readers. */
function SpokenRows({ rows }: { readonly rows: readonly LaidRow[] }) {
  return (
    <ul class="spoken">
      {rows.map((row, index) => (
        <li key={index}>{row.text}</li>
      ))}
    </ul>
  );
}

function Legend() {
  return (
    <details class="legend">
      <summary>Letters</summary>
      <dl>
        {LETTERS.map(([, letters, meaning]) => [<dt key={letters}>{letters}</dt>, <dd key={meaning}>{meaning}</dd>])}
        <dt>✗</dt>
        <dd>lost, or dropped by the receiver</dd>
      </dl>
    </details>
  );
}

function useLadderKeys(move: (by: number) => void, open: () => void): void {
  const latest = useRef({ move, open });
  latest.current = { move, open };
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.key === 'j' || event.key === 'ArrowDown') latest.current.move(1);
      else if (event.key === 'k' || event.key === 'ArrowUp') latest.current.move(-1);
      else if (event.key === 'Enter' && !(event.target instanceof HTMLButtonElement)) latest.current.open();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}

const SPARE = 10;
