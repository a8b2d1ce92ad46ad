/**
 * One finding: what is wrong, the packets that prove it, the part of the ladder with them, what to do, and what is
 * known of the symptom in general.
 *
 * Owns how it is laid out. The ladder is asked for when it is opened.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Finding } from 'rocev2/pcap';
import { findingPage } from '../../analyze/finding-page.ts';
import type { LadderExcerpt, SymptomText } from '../engine/protocol.ts';
import { layoutLadder, ROW_HEIGHT, railsOf } from '../ladder/layout.ts';
import { drawnShape, LadderHead, SpokenRows } from './ladder-parts.tsx';
import { sitePage } from './site.ts';
import { WHOLE } from './time-range.tsx';
import type { ViewProps } from './view.ts';
import { count } from './words.ts';

interface Props extends Pick<ViewProps, 'client' | 'go'> {
  readonly finding: Finding;
  /** What is known of it in general. */
  readonly symptom: SymptomText | undefined;
  /** Its ladder is open at first. */
  readonly open: boolean;
}

/** The box. */
export function FindingBox({ client, finding, symptom, open, go }: Props) {
  const { severity, text, frames, frameCount, conversations, advice, commands, id } = finding;
  return (
    <article class={`finding ${severity}`} data-testid="finding">
      <div class="finding-text">
        <p>
          <span class={`severity ${severity}`}>{severity}</span> <span class="quiet">{id}</span>
        </p>
        <h3>{text}</h3>
        {frames.length > 0 ? (
          <p class="frames">
            Packets:{' '}
            {frames.map((frame) => (
              <button
                type="button"
                class="link"
                key={frame}
                onClick={() => go({ tab: 'packets', packet: frame, filter: '', ...WHOLE })}
              >
                {frame}
              </button>
            ))}
            {frameCount > frames.length ? `and ${count(frameCount - frames.length)} more` : ''}
          </p>
        ) : null}
        {conversations.length > 0 ? (
          <p class="frames">
            Ladder of conversation:{' '}
            {conversations.slice(0, MOST_LINKS).map((conversation) => (
              <button
                type="button"
                class="link"
                key={conversation}
                onClick={() => go({ tab: 'ladder', conversation, packet: frames[0] ?? 0, ...WHOLE })}
              >
                {conversation}
              </button>
            ))}
          </p>
        ) : null}
        {advice.length > 0 ? (
          <ul>
            {advice.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        ) : null}
        {commands.map((command) => (
          <p key={command}>
            <code>{command}</code>
          </p>
        ))}
        {symptom === undefined ? null : <AboutSymptom {...symptom} />}
      </div>
      {frames.length > 0 ? <Excerpt client={client} finding={finding} open={open} go={go} /> : null}
    </article>
  );
}

/** What the symptom is in general, or the rule. */
function AboutSymptom({ id, title, complaint, about, source }: SymptomText) {
  const page = sitePage(findingPage(id));
  return (
    <details class="symptom" data-testid="symptom">
      <summary>{title === '' ? 'The rule' : `About this symptom: ${title}`}</summary>
      {complaint === '' ? null : (
        <p>
          <b>What is seen.</b> {complaint}
        </p>
      )}
      <p>
        {about} {source === '' ? null : <span class="quiet">Source: {source}</span>}
      </p>
      {page === undefined ? null : (
        <p>
          <a href={page}>{title === '' ? 'The page of the rules' : 'The page of this symptom'}</a>
        </p>
      )}
    </details>
  );
}

/** The part of the ladder with its packets. */
function Excerpt({ client, finding, open, go }: Omit<Props, 'symptom'>) {
  const [shown, setShown] = useState(open);
  const [excerpt, setExcerpt] = useState<LadderExcerpt>();
  const [width, setWidth] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let stale = false;
    if (shown) client.look('excerpt', { numbers: finding.frames }, (answer) => !stale && setExcerpt(answer));
    return () => {
      stale = true;
    };
  }, [client, finding, shown]);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const drawn = useMemo(() => layoutLadder(excerpt?.rows ?? [], { width, originNs: 0 }), [excerpt, width]);
  const { conversation = 0, left = '', right = '' } = excerpt ?? {};
  const choose = (packet: number): void =>
    go({ tab: conversation > 0 ? 'ladder' : 'packets', conversation, packet, filter: '', ...WHOLE });
  return (
    <details class="excerpt" open={open} onToggle={(event) => setShown(event.currentTarget.open)} data-testid="excerpt">
      <summary>Ladder of these packets</summary>
      <div ref={box}>
        {excerpt === undefined || width === 0 ? null : (
          <>
            <LadderHead rails={railsOf(width)} left={left} right={right} clock="us" />
            <svg class="ladder-svg" width={width} height={drawn.length * ROW_HEIGHT} aria-hidden="true">
              {[railsOf(width).left, railsOf(width).right].map((x) => (
                <line key={x} class="rail" x1={x} x2={x} y1={0} y2={drawn.length * ROW_HEIGHT} />
              ))}
              {drawn.map((row, index) => (
                // biome-ignore lint/a11y/noStaticElementInteractions: the packets above are buttons
                <g
                  key={index}
                  class={`rung${row.number > 0 ? ' packet-rung' : ''}${finding.frames.includes(row.number) ? ' proof' : ''}`}
                  onClick={() => row.number > 0 && choose(row.number)}
                  onKeyDown={() => undefined}
                >
                  <title>{row.text}</title>
                  <rect class="rung-back" x={0} y={row.top} width={width} height={ROW_HEIGHT} />
                  {row.shapes.map((shape, at) => drawnShape(shape, at))}
                </g>
              ))}
            </svg>
            <SpokenRows rows={drawn} />
          </>
        )}
      </div>
    </details>
  );
}

const MOST_LINKS = 12;
