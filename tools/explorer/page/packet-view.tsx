/**
 * One packet: its fields, its bytes, and the rule of the field that is looked at, side by side; each points to the
 * others.
 *
 * Owns which field is looked at. A field that was clicked stays so when another packet is chosen.
 */

import { useMemo, useState } from 'preact/hooks';
import type { MappedField, PacketDetail } from '../engine/protocol.ts';
import { FieldTree, placeOf } from './field-tree.tsx';
import { HexView } from './hex-view.tsx';
import { markNames, seconds, bytes as sizeOf } from './words.ts';

interface Props {
  readonly detail: PacketDetail;
  /** Sentences of the findings that name this packet. */
  readonly findings: readonly string[];
  readonly onPacket: (number: number) => void;
  readonly onMenu: (event: MouseEvent | KeyboardEvent, field: MappedField, index: number) => void;
}

/** The view. */
export function PacketView({ detail, findings, onPacket, onMenu }: Props) {
  const fields = useMemo(() => detail.headers.flatMap((header) => header.fields), [detail]);
  const [hovered, setHovered] = useState({ detail, index: -1 });
  const [pinned, setPinned] = useState('');
  const pointed = hovered.detail === detail ? fields[hovered.index] : undefined;
  const lit = pointed ?? fields.find(({ name }) => name === pinned);
  const hover = (index: number): void => setHovered({ detail, index });
  const pin = (index: number): void => {
    const name = fields[index]?.name ?? '';
    setPinned(name === pinned ? '' : name);
  };
  const menu = (event: MouseEvent | KeyboardEvent, index: number): void => {
    const field = fields[index];
    if (field !== undefined) onMenu(event, field, index);
  };
  const parts = { detail, fields, lit, onHover: hover, onPin: pin, onMenu: menu };
  return (
    <section class="packet" aria-label={`Packet ${detail.row.number}`} data-testid="packet">
      <PacketHead detail={detail} onPacket={onPacket} />
      <FieldTree {...parts} />
      <HexView {...parts} />
      <aside class="about" aria-label="About the packet and the field">
        <FieldBox field={lit} bytes={detail.bytes} />
        <Remarks detail={detail} findings={findings} />
      </aside>
    </section>
  );
}

function PacketHead({ detail, onPacket }: Pick<Props, 'detail' | 'onPacket'>) {
  const { row, original, bytes, interfaceName, refersTo } = detail;
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
      <span class="packet-line">
        {row.ends} {row.info}
      </span>
      <span class="quiet">
        {seconds(row.timeNs)} s, {size}
        {name}
        {Number.isNaN(row.relativePsn) ? '' : `, relative PSN ${row.relativePsn}`}
      </span>
      {refersTo > 0 ? (
        <button type="button" class="link" onClick={() => onPacket(refersTo)}>
          Go to packet {refersTo}
        </button>
      ) : null}
    </header>
  );
}

/** What the analysis and the capture say of the packet. */
function Remarks({ detail: { remarks, comments }, findings }: Pick<Props, 'detail' | 'findings'>) {
  return (
    <>
      {[...remarks, ...findings].map((sentence) => (
        <p class="remark" key={sentence}>
          {sentence}
        </p>
      ))}
      {comments.map((comment) => (
        <p class="comment" key={comment}>
          {comment}
        </p>
      ))}
    </>
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

function grouped(bits: string, at: number): string {
  return [...bits].map((bit, index) => ((at + index) % 8 === 0 && at + index > 0 ? ` ${bit}` : bit)).join('');
}

const MOST_BIT_BYTES = 8;
