/**
 * One packet: its bytes in hex beside the fields that they are; each points to the other.
 *
 * Owns which field is looked at. Long packets are shown up to a bound until the rest is asked for.
 */

import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { MappedField, PacketDetail } from '../engine/protocol.ts';
import { memo } from './memo.ts';
import { markNames, seconds, bytes as sizeOf } from './words.ts';

interface Props {
  readonly detail: PacketDetail;
  /** Sentences of the findings that name this packet. */
  readonly findings: readonly string[];
  readonly onPacket: (number: number) => void;
}

/** Index of a field among all of a packet, -1: none. */
type FieldIndex = number;

/** The view. */
export function PacketView({ detail, findings, onPacket }: Props) {
  const fields = useMemo(() => detail.headers.flatMap((header) => header.fields), [detail]);
  const [hovered, setHovered] = useState<FieldIndex>(-1);
  const [pinned, setPinned] = useState<FieldIndex>(-1);
  const { number } = detail.row;
  useLayoutEffect(() => {
    setHovered(-1);
    setPinned(-1);
  }, [number]);
  const lit = fields[hovered >= 0 ? hovered : pinned];
  const pin = (index: FieldIndex): void => setPinned(index === pinned ? -1 : index);
  return (
    <section class="packet" aria-label={`Packet ${detail.row.number}`} data-testid="packet">
      <PacketHead detail={detail} findings={findings} onPacket={onPacket} />
      <div class="packet-bytes">
        <HexView detail={detail} fields={fields} lit={lit} onHover={setHovered} onPin={pin} />
        <FieldBox field={lit} bytes={detail.bytes} />
      </div>
      <FieldTree detail={detail} lit={lit} onHover={setHovered} onPin={pin} fields={fields} />
    </section>
  );
}

function PacketHead({ detail, findings, onPacket }: Props) {
  const { row, original, bytes, interfaceName, comments, refersTo, remarks } = detail;
  const size = bytes.length < original ? `${bytes.length} of ${original} bytes captured` : sizeOf(bytes.length);
  const name = interfaceName === '' ? '' : `, interface ${interfaceName}`;
  return (
    <header>
      <h2>
        Packet {row.number}
        {markNames(row.marks).map((mark) => (
          <span class="mark" key={mark}>
            {mark}
          </span>
        ))}
      </h2>
      <p class="quiet">
        {seconds(row.timeNs)} s, {size}
        {name}
        {Number.isNaN(row.relativePsn) ? '' : `, relative PSN ${row.relativePsn}`}
      </p>
      <p>
        {row.ends} {row.info}
      </p>
      {[...remarks, ...findings].map((sentence) => (
        <p class="remark" key={sentence}>
          {sentence}
        </p>
      ))}
      {refersTo > 0 ? (
        <p>
          <button type="button" class="link" onClick={() => onPacket(refersTo)}>
            Go to packet {refersTo}
          </button>
        </p>
      ) : null}
      {comments.map((comment) => (
        <p class="comment" key={comment}>
          {comment}
        </p>
      ))}
    </header>
  );
}

/** What the field that is looked at says. */
function FieldBox({ field, bytes }: { readonly field: MappedField | undefined; readonly bytes: Uint8Array }) {
  if (field === undefined) {
    return <p class="field-box quiet">Point to a byte or a field; a click keeps it.</p>;
  }
  return (
    <div class="field-box" data-testid="field" aria-live="polite">
      <strong>{field.name}</strong> <code>{field.shown}</code> <span class="quiet">{placeOf(field)}</span>
      <BitsOf field={field} bytes={bytes} />
      <p>{field.meaning}</p>
      {field.rule === '' ? null : <p class="quiet">Source: {field.rule}</p>}
    </div>
  );
}

/** The bytes of a narrow field in bits, its own in bold. */
function BitsOf({ field, bytes }: { readonly field: MappedField; readonly bytes: Uint8Array }) {
  const first = Math.floor(field.bitOffset / 8);
  const end = Math.ceil((field.bitOffset + field.bits) / 8);
  if (end - first > MOST_BIT_BYTES) return null;
  const bits = Array.from(bytes.subarray(first, end), (byte) => byte.toString(2).padStart(8, '0')).join('');
  const before = field.bitOffset - 8 * first;
  return (
    <p class="bits">
      {grouped(bits.slice(0, before), 0)}
      <b>{grouped(bits.slice(before, before + field.bits), before)}</b>
      {grouped(bits.slice(before + field.bits), before + field.bits)}
    </p>
  );
}

interface PartProps {
  readonly detail: PacketDetail;
  readonly fields: readonly MappedField[];
  readonly lit: MappedField | undefined;
  readonly onHover: (index: FieldIndex) => void;
  readonly onPin: (index: FieldIndex) => void;
}

function HexView({ detail, fields, lit, onHover, onPin }: PartProps) {
  const [whole, setWhole] = useState(false);
  const { bytes } = detail;
  const shown = whole ? bytes.length : Math.min(bytes.length, SHOWN_BYTES);
  const [first, end] = lit === undefined ? [0, 0] : bytesOf(lit);
  // The first field of each byte: a byte with several is pointed at by the first, the others by the list.
  const owners = useMemo(() => ownersOf(fields, bytes.length), [fields, bytes]);
  const parity = useMemo(() => parityOf(detail), [detail]);
  const ownerAt = (event: Event): FieldIndex => {
    const target = event.target instanceof HTMLElement ? event.target.dataset['byte'] : undefined;
    return target === undefined ? -1 : (owners[Number(target)] ?? -1);
  };
  const lines = Array.from({ length: Math.ceil(shown / LINE) }, (_, line) => line * LINE);
  return (
    <div class="hex" data-testid="hex">
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the list of fields beside it takes the keys */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the list of fields beside it is the way without a mouse */}
      <div
        onMouseOver={(event) => onHover(ownerAt(event))}
        onMouseLeave={() => onHover(-1)}
        onFocus={() => undefined}
        onClick={(event) => onPin(ownerAt(event))}
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
    </div>
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

function FieldTree({ detail, fields, lit, onHover, onPin }: PartProps) {
  let index = 0;
  return (
    <div class="fields" data-testid="fields">
      {detail.headers.map((header) => (
        <details open={header.name !== 'Ethernet'} key={header.byteOffset}>
          <summary>
            {header.name} <span class="quiet">{header.title === header.name ? '' : header.title}</span>
          </summary>
          <ul>
            {header.fields.map((field) => {
              const own = index++;
              return (
                <li key={field.bitOffset}>
                  <button
                    type="button"
                    class={`field${fields[own] === lit ? ' lit' : ''}`}
                    title={`${field.meaning} (${placeOf(field)})`}
                    onMouseEnter={() => onHover(own)}
                    onMouseLeave={() => onHover(-1)}
                    onFocus={() => onHover(own)}
                    onBlur={() => onHover(-1)}
                    onClick={() => onPin(own)}
                  >
                    <span class="field-name">{field.name}</span>
                    <span class="field-value">{field.shown}</span>
                    <span class="field-meaning">{field.meaning}</span>
                  </button>
                </li>
              );
            })}
          </ul>
        </details>
      ))}
    </div>
  );
}

/** "byte 42, bits 0 to 7", counted from the most significant. */
function placeOf({ bitOffset, bits }: MappedField): string {
  const first = Math.floor(bitOffset / 8);
  const last = Math.floor((bitOffset + bits - 1) / 8);
  if (bitOffset % 8 === 0 && bits % 8 === 0) return first === last ? `byte ${first}` : `bytes ${first} to ${last}`;
  const bit = bitOffset % 8;
  return `byte ${first}, ${bits === 1 ? `bit ${bit}` : `bits ${bit} to ${bit + bits - 1}`}`;
}

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

function grouped(bits: string, at: number): string {
  return [...bits].map((bit, index) => ((at + index) % 8 === 0 && at + index > 0 ? ` ${bit}` : bit)).join('');
}

const LINE = 16;
const SHOWN_BYTES = 1024;
const MOST_BIT_BYTES = 8;
