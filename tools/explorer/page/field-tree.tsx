/**
 * The headers of a packet and their fields, a line each. What only carries the packet here, Ethernet to UDP, is folded
 * to a line that says from where to where; what RoCE says is open.
 *
 * Owns which headers begin open.
 */
import type { MappedField, MappedHeader, PacketDetail } from '../engine/protocol.ts';
import { isMenuKey } from './context-menu.tsx';

/** What the parts of a packet's view share. Fields are named by their index among all of the packet, -1: none. */
export interface FieldPartProps {
  readonly detail: PacketDetail;
  readonly fields: readonly MappedField[];
  readonly lit: MappedField | undefined;
  readonly onHover: (index: number) => void;
  readonly onPin: (index: number) => void;
  /** The menu of a field was asked for. */
  readonly onMenu: (event: MouseEvent | KeyboardEvent, index: number) => void;
}

/** The list. */
export function FieldTree({ detail, fields, lit, onHover, onPin, onMenu }: FieldPartProps) {
  let index = 0;
  return (
    <div class="fields" data-testid="fields">
      {detail.headers.map((header, at) => (
        <details open={!OUTER.has(header.name)} key={`${header.name} ${nth(detail.headers, at)}`}>
          <summary>
            {header.name} <span class="quiet">{headlineOf(header)}</span>
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
                    onContextMenu={(event) => onMenu(event, own)}
                    onKeyDown={(event) => isMenuKey(event) && onMenu(event, own)}
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
export function placeOf({ bitOffset, bits }: MappedField): string {
  const first = Math.floor(bitOffset / 8);
  const last = Math.floor((bitOffset + bits - 1) / 8);
  if (bitOffset % 8 === 0 && bits % 8 === 0) return first === last ? `byte ${first}` : `bytes ${first} to ${last}`;
  const bit = bitOffset % 8;
  return `byte ${first}, ${bits === 1 ? `bit ${bit}` : `bits ${bit} to ${bit + bits - 1}`}`;
}

/** Which header of its name it is: tunnels have several. */
function nth(headers: readonly MappedHeader[], at: number): number {
  return headers.slice(0, at).filter(({ name }) => name === headers[at]?.name).length;
}

/** "10.0.0.1 > 10.0.0.2" where a header says from where to where, or its full name. */
function headlineOf({ name, title, fields }: MappedHeader): string {
  const [from, to] = [SOURCE, DESTINATION].map((end) => fields.find((field) => end.test(field.name))?.shown);
  if (from !== undefined && to !== undefined) return `${from} > ${to}`;
  return title === name ? '' : title;
}

const OUTER: ReadonlySet<string> = new Set(['Link', 'Ethernet', 'VLAN', 'IPv4', 'IPv6', 'UDP']);
const SOURCE = /\.src(port)?$/;
const DESTINATION = /\.dst(port)?$/;
