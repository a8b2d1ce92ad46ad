/**
 * The ladder of a session: a rail for each host, a row for each packet in the order in which they were sent, those
 * under way on their way. Owns coordinates; colours are the style sheet's, shared with the ladder of captures.
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { asSent, microseconds, type PacketSummary, type PlaygroundSession } from '../../playground/index.ts';

interface LadderProps {
  readonly session: PlaygroundSession;
  readonly hosts: readonly { readonly name: string; readonly address: string }[];
  /** Serial number; 0: none. */
  readonly chosen: number;
  readonly now: number;
  /** Without what the network did to them. */
  readonly asSent: boolean;
  readonly onChoose: (serial: number) => void;
}

/** The ladder, scrolled to its end. */
export function SessionLadder({ session, hosts, chosen, now, asSent: blind, onChoose }: LadderProps) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  const [all, setAll] = useState(false);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.max(240, Math.floor(entry?.contentRect.width ?? 600))));
    if (box.current !== null) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const length = session.packetCount;
  useEffect(() => {
    box.current?.scrollTo({ top: length * ROW + ROW });
  }, [length]);
  const hidden = all ? 0 : Math.max(0, length - MOST_ROWS);
  const packets = blind
    ? session
        .packets(hidden)
        .filter(({ copyOf }) => copyOf === 0)
        .map(asSent)
    : session.packets(hidden);
  const rails = hosts.map((_, index) => LEFT + ((width - LEFT - RIGHT) * index) / (hosts.length - 1));
  const height = (length - hidden) * ROW + 8;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <section class="play-ladder" ref={box} tabIndex={0} aria-label="Ladder" data-testid="play-ladder">
      <div class="play-rails" aria-hidden="true">
        {hosts.map(({ name, address }, index) => (
          <span key={name} style={{ left: `${rails[index] ?? 0}px` }} title={address}>
            {name}
          </span>
        ))}
      </div>
      {hidden === 0 ? null : (
        <button type="button" class="link" onClick={() => setAll(true)}>
          {hidden} earlier packets
        </button>
      )}
      {length === 0 ? <p class="quiet play-empty">No packet has been sent yet.</p> : null}
      <svg class="ladder-svg play-svg" width={width} height={height} role="img" aria-label={`${length} packets`}>
        {rails.map((x) => (
          <line key={x} class="rail" x1={x} x2={x} y1={0} y2={height} />
        ))}
        {packets.map((packet, index) => (
          <Rung
            key={packet.serial}
            packet={packet}
            top={index * ROW}
            width={width}
            rails={rails}
            now={now}
            chosen={packet.serial === chosen}
            onChoose={onChoose}
          />
        ))}
      </svg>
      <ul class="spoken" data-testid="rungs">
        {packets.map((packet) => (
          <li key={packet.serial}>{spoken(packet, hosts)}</li>
        ))}
      </ul>
    </section>
  );
}

interface RungProps {
  readonly packet: PacketSummary;
  readonly top: number;
  readonly width: number;
  readonly rails: readonly number[];
  readonly now: number;
  readonly chosen: boolean;
  readonly onChoose: (serial: number) => void;
}

function Rung({ packet, top, width, rails, now, chosen, onChoose }: RungProps) {
  const from = rails[packet.from] ?? 0;
  const to = rails[packet.to] ?? from;
  const tone = toneOf(packet);
  const reach = reachOf(packet, now);
  const x = from + (to - from) * reach;
  const y = top + START + (END - START) * reach;
  const ahead = Math.sign(to - from) || 1;
  // Beside its sender; between rails that are too close, where there is room.
  const atRight = Math.abs(to - from) < NARROW ? Math.max(from, to) > width / 2 : ahead < 0;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the list beside it has the same, for keys
    <g
      class={`packet-rung${chosen ? ' selected' : ''}`}
      data-serial={packet.serial}
      onClick={() => onChoose(packet.serial)}
      onKeyDown={() => undefined}
    >
      <rect class="rung-back" x={0} y={top} width={width} height={ROW} />
      <text class="time" x={LEFT - 12} y={top + 15} text-anchor="end">
        {(packet.sentNs / 1000).toFixed(1)}
      </text>
      <line class={`arrow ${tone}`} x1={from} y1={top + START} x2={x} y2={y} />
      <End packet={packet} x={x} y={y} ahead={ahead} tone={tone} />
      <text
        class={`words ${tone}`}
        x={atRight ? Math.max(from, to) - 10 : Math.min(from, to) + 10}
        y={top + 13}
        text-anchor={atRight ? 'end' : 'start'}
      >
        {clipped(wordsOf(packet), Math.abs(to - from) < NARROW ? width / 2 : Math.abs(to - from))}
      </text>
    </g>
  );
}

function End({
  packet,
  x,
  y,
  ahead,
  tone,
}: {
  packet: PacketSummary;
  x: number;
  y: number;
  ahead: number;
  tone: string;
}) {
  if (packet.state === 'lost')
    return (
      <path class={`cross ${tone}`} d={`M${x - 5} ${y - 5}L${x + 5} ${y + 5}M${x - 5} ${y + 5}L${x + 5} ${y - 5}`} />
    );
  if (packet.state === 'flying') return <circle class={`head ${tone} flying`} cx={x} cy={y} r={4} />;
  return <path class={`head ${tone}`} d={`M${x} ${y}L${x - 8 * ahead} ${y - 4}L${x - 8 * ahead} ${y + 3}Z`} />;
}

/** How far on its way a packet is, 0..1. */
function reachOf({ state, sentNs, arrivesNs }: PacketSummary, now: number): number {
  if (state === 'delivered') return 1;
  if (state === 'lost') return 0.6;
  if (arrivesNs === Infinity) return now > sentNs ? 0.4 : 0.12;
  return Math.min(0.92, Math.max(0.12, (now - sentNs) / Math.max(1, arrivesNs - sentNs)));
}

function toneOf({ state, fate, kind, again, copyOf, marked }: PacketSummary): string {
  if (state === 'lost' || fate.includes('corrupt')) return 'bad';
  if (kind === 'nak' || kind === 'rnr-nak') return 'nak';
  if (again || copyOf > 0) return 'again';
  if (kind === 'cnp' || marked) return 'notice';
  return kind === 'answer' ? 'response' : kind === 'ack' ? 'ack' : 'request';
}

/** "NAK PSN sequence error, psn 102", "WRITE First, psn 100, 1024 bytes". */
function wordsOf({ name, kind, detail, psn, fate, again, copyOf, state, lossReason }: PacketSummary): string {
  const plain = name.replace(/^(RC|UC|UD) /, '').replace(/^RDMA /, '');
  const acknowledges = kind === 'ack' || kind === 'nak' || kind === 'rnr-nak';
  const words = acknowledges ? [detail.replace(/ msn \d+/, '')] : [plain];
  if (psn >= 0) words.push(`psn ${psn}`);
  if (!acknowledges && detail !== '') words.push(detail.replace(/ACK msn \d+(, )?/, ''));
  if (again) words.push('again');
  if (copyOf > 0) words.push('copy');
  if (state === 'lost') words.push(lossReason);
  else words.push(...fate.map((action) => FATES.get(action) ?? action));
  return words.filter((word) => word !== '').join(', ');
}

function spoken(packet: PacketSummary, hosts: LadderProps['hosts']): string {
  const way = `${hosts[packet.from]?.name ?? '?'} to ${hosts[packet.to]?.name ?? '?'}`;
  return `${microseconds(packet.sentNs)}, ${way}: ${wordsOf(packet)}, ${packet.state}`;
}

function clipped(text: string, room: number): string {
  const letters = Math.max(8, Math.floor((room - 20) / LETTER));
  return text.length <= letters ? text : `${text.slice(0, letters - 1)}…`;
}

const FATES: ReadonlyMap<string, string> = new Map([
  ['drop', 'to be dropped'],
  ['corrupt', 'damaged'],
  ['duplicate', 'doubled'],
  ['delay', 'held back'],
  ['mark', 'CE'],
]);
const ROW = 28;
const START = 18;
const END = 24;
const LEFT = 70;
const RIGHT = 22;
const LETTER = 6.4;
/** Between rails that are closer words go beyond them. */
const NARROW = 220;
const MOST_ROWS = 300;
