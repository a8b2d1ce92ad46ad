/**
 * The bytes of a packet in hex, headers in two shades by turns; each byte points to the field that it is part of.
 *
 * Owns which field a byte points to. Long packets are shown up to a bound until the rest is asked for.
 */
import { useMemo, useState } from 'preact/hooks';
import type { MappedField, PacketDetail } from '../engine/protocol.ts';
import type { FieldPartProps } from './field-tree.tsx';
import { memo } from './memo.ts';

/** The view. */
export function HexView({ detail, fields, lit, onHover, onPin, onMenu }: FieldPartProps) {
  const [whole, setWhole] = useState(false);
  const { bytes } = detail;
  const shown = whole ? bytes.length : Math.min(bytes.length, SHOWN_BYTES);
  const [first, end] = lit === undefined ? [0, 0] : bytesOf(lit);
  // The first field of each byte: a byte with several is pointed at by the first, the others by the list.
  const owners = useMemo(() => ownersOf(fields, bytes.length), [fields, bytes]);
  const parity = useMemo(() => parityOf(detail), [detail]);
  const ownerAt = (event: Event): number => {
    const target = event.target instanceof HTMLElement ? event.target.dataset['byte'] : undefined;
    return target === undefined ? -1 : (owners[Number(target)] ?? -1);
  };
  const lines = Array.from({ length: Math.ceil(shown / LINE) }, (_, line) => line * LINE);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <section class="hex" data-testid="hex" aria-label="Bytes" tabIndex={0}>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the list of fields beside it takes the keys */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the list of fields beside it is the way without a mouse */}
      <div
        onMouseOver={(event) => onHover(ownerAt(event))}
        onMouseLeave={() => onHover(-1)}
        onFocus={() => undefined}
        onClick={(event) => onPin(ownerAt(event))}
        onContextMenu={(event) => ownerAt(event) >= 0 && onMenu(event, ownerAt(event))}
      >
        {lines.map((from) => {
          const litFrom = Math.min(Math.max(first - from, 0), LINE);
          const litEnd = Math.min(Math.max(end - from, 0), LINE);
          return (
            <HexLine
              key={from}
              bytes={bytes}
              parity={parity}
              from={from}
              end={Math.min(from + LINE, shown)}
              litFrom={litFrom < litEnd ? litFrom : 0}
              litEnd={litFrom < litEnd ? litEnd : 0}
            />
          );
        })}
      </div>
      {shown < bytes.length ? (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {bytes.length} bytes
        </button>
      ) : null}
    </section>
  );
}

interface HexLineProps {
  readonly bytes: Uint8Array;
  readonly parity: Uint8Array;
  readonly from: number;
  readonly end: number;
  readonly litFrom: number;
  readonly litEnd: number;
}

const HexLine = memo(function HexLine({ bytes, parity, from, end, litFrom, litEnd }: HexLineProps) {
  const part = Array.from(bytes.subarray(from, end));
  return (
    <div class="hex-line">
      <span class="hex-at">{from.toString(16).padStart(4, '0')}</span>
      <span class="hex-bytes">
        {part.map((byte, index) => (
          <span
            key={index}
            data-byte={from + index}
            class={`byte${parity[from + index] === 1 ? ' odd' : ''}${index >= litFrom && index < litEnd ? ' lit' : ''}`}
          >
            {byte.toString(16).padStart(2, '0')}
          </span>
        ))}
      </span>
      <span class="hex-text">
        {part.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '·')).join('')}
      </span>
    </div>
  );
});

function bytesOf({ bitOffset, bits }: MappedField): [first: number, end: number] {
  return [Math.floor(bitOffset / 8), Math.ceil((bitOffset + bits) / 8)];
}

function ownersOf(fields: readonly MappedField[], length: number): Int32Array {
  const owners = new Int32Array(length).fill(-1);
  fields.forEach((field, index) => {
    const [first, end] = bytesOf(field);
    for (let byte = first; byte < end; byte++) if (owners[byte] === -1) owners[byte] = index;
  });
  return owners;
}

/** Headers in two shades by turns. */
function parityOf({ headers, bytes }: PacketDetail): Uint8Array {
  const parity = new Uint8Array(bytes.length);
  headers.forEach(({ byteOffset, byteLength }, index) => {
    parity.fill(index % 2, byteOffset, byteOffset + byteLength);
  });
  return parity;
}

const LINE = 16;
const SHOWN_BYTES = 1024;
