/**
 * The ladder of a conversation, at any length: only the visible part is drawn.
 *
 * Owns scrolling, selection and keys; `ladder/layout.ts` owns positions.
 */
import { useMemo, useState } from 'preact/hooks';
import type { LadderWindow } from '../engine/protocol.ts';
import { type LaidRow, layoutLadder, ROW_HEIGHT, railsOf } from '../ladder/layout.ts';
import { ConversationPicker, chosenConversation } from './conversation-picker.tsx';
import { drawnShape, LadderHead, LadderLegend, SpokenRows } from './ladder-parts.tsx';
import { type BoxProps, useLadderKeys, useLadderPlace } from './ladder-place.ts';
import { TimeLadderBox } from './ladder-time.tsx';
import { memo } from './memo.ts';
import type { ViewProps } from './view.ts';
import { usePart, useScrolling } from './windowed.ts';
import { qpn } from './words.ts';

/** The view. */
export function Ladder({ client, news, place, go }: ViewProps) {
  const report = chosenConversation(news, place.conversation);
  if (report === undefined) {
    return <p class="prose quiet">{news.done ? 'No RoCEv2 conversation in this file.' : 'Reading...'}</p>;
  }
  const [left, right] = report.ends;
  const Box = place.rows ? LadderBox : TimeLadderBox;
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
        <fieldset class="buttons">
          <legend class="spoken">Lines</legend>
          <button type="button" aria-pressed={!place.rows} onClick={() => go({ rows: false })}>
            True to time
          </button>
          <button type="button" aria-pressed={place.rows} onClick={() => go({ rows: true })}>
            Equal rows
          </button>
        </fieldset>
        <LadderLegend />
      </div>
      <Box
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

function LadderBox({ client, news, place, go, conversation, left, right }: BoxProps) {
  const [total, setTotal] = useState(0);
  const time = { fromNs: place.fromNs, toNs: place.toNs };
  const { box, height, first, visible, shift, width, reveal } = useScrolling<HTMLElement>(total, ROW_HEIGHT);
  const ask = async (from: number, wanted: number): Promise<LadderWindow> => {
    const answer = await client.ask('ladder', { conversation, ...time, from, count: wanted });
    setTotal(answer.total);
    return answer;
  };
  const count = visible + 2 * SPARE;
  const part = usePart(
    ask,
    Math.max(0, first - SPARE),
    count,
    `${conversation} ${time.fromNs} ${time.toNs} ${news.done}`,
  );
  const drawn = useMemo(() => layoutLadder(part.rows, { width, originNs: 0 }, part.from), [part, width]);
  const move = useLadderPlace({ client, conversation, place, go, total, reveal });
  useLadderKeys(move, () => go({ tab: 'packets', filter: '', conversation }));
  const rails = railsOf(width);
  return (
    <>
      <LadderHead rails={rails} left={left} right={right} clock="us" />
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
      <title>{row.text}</title>
      {row.shapes.map((shape, index) => drawnShape(shape, index))}
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

const SPARE = 10;
