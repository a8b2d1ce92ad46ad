/**
 * What the menus of fields and packets offer: filter by it, filter further, leave it out, copy it.
 *
 * Owns how a filter is put together with the one that is there.
 */
import type { MappedField, PacketRow } from '../engine/protocol.ts';
import type { Client } from './client.ts';
import { COLUMNS, type ColumnId } from './columns.ts';
import type { MenuItem } from './context-menu.tsx';
import { copyText } from './save.ts';
import { markNames, seconds } from './words.ts';

/** What the menu of a packet offers. */
export async function rowItems(
  row: PacketRow,
  column: ColumnId,
  filter: string,
  onFilter: (filter: string) => void,
  save: (numbers: readonly number[]) => Promise<void>,
): Promise<readonly MenuItem[]> {
  const [own, conversation] = [termOf(column, row), conversationTerm(row)];
  const text = COLUMNS.find(({ id }) => id === column)?.text(row) ?? '';
  return [
    ...filterItems(own, filter, onFilter),
    ...(own === conversation ? [] : filterItems(conversation, filter, onFilter)),
    ...(text === '' ? [] : [copyItem('Copy this', text)]),
    copyItem('Copy the line', [row.number, seconds(row.timeNs), row.ends, row.length, row.info].join('\t')),
    { words: `Save packet ${row.number} as pcapng`, run: () => void save([row.number]) },
  ];
}

/** What the menu of a field offers. */
export async function fieldItems(
  client: Client,
  number: number,
  { name, shown }: MappedField,
  field: number,
  filter: string,
  onFilter: (filter: string) => void,
): Promise<readonly MenuItem[]> {
  const term = await client.ask('fieldFilter', { number, field });
  return [
    ...filterItems(term, filter, onFilter),
    copyItem('Copy the value', shown),
    copyItem('Copy the name', name),
    ...(term === '' ? [] : [copyItem('Copy as a filter', term)]),
  ];
}

/** The lines for a term of a filter; none for an empty one. */
function filterItems(term: string, filter: string, onFilter: (filter: string) => void): MenuItem[] {
  if (term === '') return [];
  const only = { words: `Only ${term}`, run: () => onFilter(term) };
  const without = { words: `Without ${term}`, run: () => onFilter(joined(filter, `not (${term})`)) };
  if (filter === '') return [only, without];
  return [only, { words: `And ${term}`, run: () => onFilter(joined(filter, term)) }, without];
}

/** The line that copies a text. */
function copyItem(words: string, text: string): MenuItem {
  return { words, run: () => void copyText(text) };
}

/** The term of what a column says of a packet; empty where it says nothing. */
export function termOf(column: ColumnId, row: PacketRow): string {
  const [from, to] = row.ends.split(' > ');
  switch (column) {
    case 'number':
      return `frame ${row.number}`;
    case 'conversation':
      return conversationTerm(row);
    case 'ends':
      if (from === undefined || to === undefined) return '';
      return MAC.test(from) ? `ether src ${from} and ether dst ${to}` : `src host ${from} and dst host ${to}`;
    case 'length':
      return `len ${row.length}`;
    case 'qp':
      return row.destQpn < 0 ? '' : `qp 0x${row.destQpn.toString(16)}`;
    case 'psn':
      return row.psn < 0 ? '' : `psn ${row.psn}`;
    case 'relative':
      return Number.isNaN(row.relativePsn) ? '' : `rel-psn ${row.relativePsn}`;
    case 'marks':
      return markNames(row.marks)
        .map((name) => (name === 'rnr-nak' ? 'rnr' : name))
        .join(' or ');
    case 'info':
      return row.psn < 0 ? '' : `infiniband.bth.opcode == 0x${row.opcode.toString(16).padStart(2, '0')}`;
    default:
      return '';
  }
}

/** The whole conversation of a packet. */
function conversationTerm({ conversation }: PacketRow): string {
  return conversation > 0 ? `stream ${conversation}` : '';
}

function joined(filter: string, term: string): string {
  if (filter === '') return term;
  const first = /\bor\b|\|\|/.test(filter) ? `(${filter})` : filter;
  return `${first} and ${/\bor\b/.test(term) && !term.startsWith('not (') ? `(${term})` : term}`;
}

const MAC = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/;
