/**
 * The output formats for a packet: a line like that of tcpdump, all fields on several lines, a JSON object, or chosen
 * fields in columns.
 *
 * Owns the layout. The text of a frame comes from `packets/format.ts`, the fields from `pcap/filter/`. Never writes
 * anywhere.
 */
import { formatFrame, formatFrameDetails, RoceError } from 'rocev2/packets';
import { type CapturedPacket, IcrcState, icrcState, Tunnel, tunnelName, tunnelsText } from 'rocev2/pcap';
import {
  type FilterSubject,
  fastField,
  fieldKind,
  fieldNames,
  fieldsOf,
  fieldsWithoutIcrc,
  ICRC_FIELD,
  markNames,
  type NumberReader,
  subjectFields,
  suggest,
} from 'rocev2/pcap/filter';
import type { TimeColumn } from './time-text.ts';

/** Turns packets into text. Lines end with a line feed. */
export interface PacketPrinter {
  /** Printed once, before everything; may be empty. */
  heading(): string;
  /** What is printed of a packet, now or, where it is held back, later. */
  print(subject: FilterSubject): string;
  /** What was held back. */
  flush(): string;
}

/** Lines, or with `verbose` several of them for each packet. */
export class LinePrinter implements PacketPrinter {
  readonly #time: TimeColumn;
  readonly #verbose: boolean;

  constructor(time: TimeColumn, verbose: boolean) {
    this.#time = time;
    this.#verbose = verbose;
  }

  heading(): string {
    return '';
  }

  flush(): string {
    return '';
  }

  print(subject: FilterSubject): string {
    const { packet } = subject;
    const head = `${String(packet.number).padStart(5)} ${this.#time.next(packet)}`;
    const [line = '', ...details] = this.#words(subject).split('\n');
    return `${[`${head}${line}${margin(subject)}`, ...details].join('\n')}\n`;
  }

  #words({ packet, dissection }: FilterSubject): string {
    if (!dissection.linkKnown) return `link type ${packet.linkType} is not one this tool reads`;
    const { frame, status } = dissection;
    const format = this.#verbose ? formatFrameDetails : formatFrame;
    const text = format(frame, status, icrcState(dissection) !== IcrcState.Bad);
    if (dissection.unreadable !== Tunnel.None) return `${tunnelName(dissection.unreadable)}, encrypted  ${text}`;
    return dissection.depth === 0 ? text : `${tunnelsText(dissection.tunnels, dissection.depth)}  ${text}`;
  }
}

/** One JSON object a line, keys named as tshark's fields. */
export class JsonPrinter implements PacketPrinter {
  heading(): string {
    return '';
  }

  flush(): string {
    return '';
  }

  print(subject: FilterSubject): string {
    return `${JSON.stringify(subjectFields(subject))}\n`;
  }
}

/** How chosen fields are printed. */
export interface FieldColumns {
  /** Field names of tshark. A name for two fields prints both, with a comma. */
  readonly names: readonly string[];
  /** Between columns; default a tab. */
  readonly separator?: string;
  /** The names in a first line. */
  readonly header?: boolean;
}

/** Values of chosen fields, a line a packet, empty where the packet has none. */
export class FieldPrinter implements PacketPrinter {
  readonly #columns: FieldColumns;
  readonly #separator: string;
  readonly #withIcrc: boolean;
  /** Where no column needs the record of all fields, which is the slow way. */
  readonly #quick: readonly NumberReader[] | undefined;

  /** @throws RoceError ERR_ROCE_ARGUMENT for a name that no packet can have */
  constructor(columns: FieldColumns) {
    this.#columns = columns;
    this.#separator = columns.separator ?? '\t';
    for (const name of columns.names) checkField(name);
    this.#withIcrc = columns.names.includes(ICRC_FIELD);
    const quick = columns.names.map(fastField).filter((read) => read !== undefined);
    this.#quick = quick.length === columns.names.length ? quick : undefined;
  }

  heading(): string {
    return this.#columns.header === true ? `${this.#columns.names.join(this.#separator)}\n` : '';
  }

  flush(): string {
    return '';
  }

  print(subject: FilterSubject): string {
    const quick = this.#quick;
    const values = quick === undefined ? this.#values(subject) : quick.map((read) => numberText(read(subject)));
    return `${values.join(this.#separator)}\n`;
  }

  #values(subject: FilterSubject): string[] {
    const record = this.#withIcrc ? subjectFields(subject) : fieldsWithoutIcrc(subject);
    return this.#columns.names.map((name) => {
      const values = fieldsOf(name).flatMap((field) => (field in record ? [record[field]] : []));
      return this.#clean(values.join(','));
    });
  }

  /** Characters of a value that would end its column or its line are written as escapes. */
  #clean(value: string): string {
    const escaped = value
      .replaceAll('\\', '\\\\')
      .replaceAll('\n', '\\n')
      .replaceAll('\r', '\\r')
      .replaceAll('\t', '\\t');
    return this.#separator === '\t' || !escaped.includes(this.#separator)
      ? escaped
      : `"${escaped.replaceAll('"', '""')}"`;
  }
}

function numberText(value: number): string {
  return Number.isNaN(value) ? '' : String(value);
}

function checkField(name: string): void {
  if (fieldKind(name) !== undefined) return;
  const near = suggest(name, fieldNames()).map((known) => `'${known}'`);
  const hint = near.length === 0 ? 'roce dump --json shows their names' : `did you mean ${near.join(' or ')}?`;
  throw new RoceError('ERR_ROCE_ARGUMENT', `'${name}' is no field; ${hint}`);
}

/** What is known of a packet beside its bytes. */
function margin({ packet, dissection, facts }: FilterSubject): string {
  const { bytes, originalLength, comments } = packet;
  const mirror = dissection.cut && bytes.length >= originalLength ? ' [truncated by a mirror]' : '';
  const cut = bytes.length < originalLength ? ` [${bytes.length} of ${originalLength} bytes captured]` : mirror;
  const own = dissection.linkKnown && icrcState(dissection) === IcrcState.RxeFlush ? ' [ICRC as rdma_rxe has it]' : '';
  const marks = facts === undefined || facts.marks === 0 ? '' : ` {${markNames(facts.marks).join(' ')}}`;
  return `${cut}${own}${marks}${commentText(comments)}`;
}

function commentText(comments: CapturedPacket['comments']): string {
  return comments.map((comment) => ` # ${comment.replaceAll(/\s+/g, ' ')}`).join('');
}
