/** Memory of the hosts: the beginning of each region, and whatever has just changed, lit. Owns the choice of lines. */
import type { ByteRange, RegionSnapshot, Snapshot } from '../../playground/index.ts';

/** One box for each host. */
export function MemoryPanel({ snapshot }: { readonly snapshot: Snapshot }) {
  return (
    <div class="card memory" data-testid="memory">
      <h3>Memory</h3>
      {snapshot.hosts.map(({ name, memory }) => (
        <details key={name} open={snapshot.hosts.length === 2}>
          <summary>{name}</summary>
          {memory.map((region) => (
            <Region key={region.name} host={name} region={region} />
          ))}
        </details>
      ))}
    </div>
  );
}

function Region({ host, region }: { readonly host: string; readonly region: RegionSnapshot }) {
  const { name, iova, rkey, bytes, changed } = region;
  const lines = linesOf(changed, bytes.length);
  return (
    <div data-testid={`memory-${host}-${name}`}>
      <p>
        {name}{' '}
        <span class="quiet">
          {bytes.length} bytes at 0x{iova.toString(16)}, key 0x{rkey.toString(16)}
          {changed.length === 0 ? '' : ', changed'}
        </span>
      </p>
      <div class="hex">
        {lines.map((line, index) => (
          <Line
            key={line}
            region={region}
            changed={changed}
            line={line}
            gap={index > 0 && line !== (lines[index - 1] ?? 0) + 1}
          />
        ))}
      </div>
    </div>
  );
}

interface LineProps {
  readonly region: RegionSnapshot;
  readonly changed: readonly ByteRange[];
  readonly line: number;
  /** Lines before it are left out. */
  readonly gap: boolean;
}

function Line({ region: { bytes }, changed, line, gap }: LineProps) {
  const start = line * PER_LINE;
  const part = Array.from(bytes.subarray(start, start + PER_LINE));
  const lit = (index: number): boolean =>
    changed.some((range) => start + index >= range.start && start + index < range.end);
  return (
    <div class={`hex-line${gap ? ' gap' : ''}`}>
      <span class="hex-at">{start.toString(16).padStart(4, '0')}</span>
      <span>
        {part.map((byte, index) => (
          <span key={index} class={lit(index) ? 'byte lit' : 'byte'}>
            {byte.toString(16).padStart(2, '0')}
          </span>
        ))}
      </span>
      <span class="play-text">
        {part.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('')}
      </span>
    </div>
  );
}

/** The first line, and those at both ends of what has changed. */
function linesOf(changed: readonly ByteRange[], length: number): number[] {
  const lines = new Set([0]);
  for (const { start, end } of changed.slice(0, MOST_RANGES)) {
    lines.add(Math.floor(start / PER_LINE));
    lines.add(Math.floor((end - 1) / PER_LINE));
  }
  return [...lines].filter((line) => line * PER_LINE < length).sort((a, b) => a - b);
}

const PER_LINE = 8;
const MOST_RANGES = 4;
