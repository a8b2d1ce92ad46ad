/** The tables of captures and of their interfaces. */
import type { Analysis, CaptureInterface, CaptureTime } from 'rocev2/pcap';
import { Columns, epochNs, known, type Table, type Value } from './schema.ts';

/** A capture that was read. */
export interface CaptureRow {
  /** Name of the file as it was given. */
  readonly file: string;
  readonly analysis: Analysis;
  /** Undefined: it has no packet. */
  readonly start: CaptureTime | undefined;
  readonly events: number;
  /** Why it could not be read to its end. */
  readonly damage: string | undefined;
}

/** An interface of a capture. */
export interface InterfaceRow {
  readonly index: number;
  readonly about: CaptureInterface;
}

const c = new Columns<CaptureRow>();
const i = new Columns<InterfaceRow>();

/** The table of captures. It is written last: a capture that has a row here is complete. */
export const CAPTURES: Table<CaptureRow> = {
  name: 'captures',
  about: 'One row for each capture. It is put in place last: a capture that is in here has all its other tables.',
  key: ['capture'],
  columns: [
    ...c.origin(),
    c.text('file', 'the file, as the command line named it; `-`: standard input', ({ file }) => file),
    c.text('damage', 'why it could not be read to its end; NULL: it was', ({ damage }) => damage),
    c.int64('start_ns', 'time of the first packet, ns since 1970; NULL: there is none', ({ start }) =>
      start === undefined ? undefined : epochNs(start),
    ),
    c.int64('end_ns', 'time of the last packet', ({ start, analysis }) =>
      start === undefined ? undefined : epochNs(start, analysis.capture.durationNs),
    ),
    c.int64('packets', 'all packets', ({ analysis }) => analysis.capture.packets),
    c.int64('wire_bytes', 'their bytes on the wire', ({ analysis }) => analysis.capture.bytes),
    c.int64('roce_packets', 'RoCEv2 packets, whole or cut', ({ analysis }) => analysis.capture.rocePackets),
    c.int64('good_icrc', 'of these, with a right ICRC', ({ analysis }) => analysis.capture.goodIcrc),
    c.int64('bad_icrc', 'with a wrong one', ({ analysis }) => analysis.capture.badIcrc),
    c.int64('cut_packets', 'cut by the capture: ICRC not known', ({ analysis }) => analysis.capture.cutPackets),
    c.int64('unread_packets', 'may carry RoCEv2 and cannot be read: encrypted, an unknown tunnel', ({ analysis }) =>
      Object.values(analysis.capture.unread).reduce((sum, count) => sum + count, 0),
    ),
    c.int64(
      'capture_drops',
      'packets that the capturing host reports as dropped',
      ({ analysis }) => analysis.capture.captureDrops,
    ),
    c.int64('conversations', 'conversations that were followed', ({ analysis }) => analysis.conversations.length),
    c.int64('conversations_omitted', 'beyond the bound, not followed', ({ analysis }) => analysis.conversationsOmitted),
    c.int64('events', 'transport events', ({ events }) => events),
    c.int64('limits', 'what it cannot know', ({ analysis }) => analysis.limits.length),
    c.int64('findings', 'findings', ({ analysis }) => analysis.findings.length),
  ],
};

/** The table of interfaces. */
export const INTERFACES: Table<InterfaceRow> = {
  name: 'interfaces',
  about: 'One row for each interface of a capture.',
  key: ['capture', 'interface_index'],
  columns: [
    ...i.origin(),
    i.int32('interface_index', 'number in the capture, from 0', ({ index }) => index),
    i.text('name', 'its name; NULL where the file has none', ({ about }) => textOf(about.name)),
    i.text('description', 'its description', ({ about }) => textOf(about.description)),
    i.int64('link_type', 'number of the link type: 1 Ethernet', ({ about }) => about.linkType),
    i.int64('snap_length', 'bytes kept of a packet; NULL: all', ({ about }) =>
      about.snapLength === 0 ? undefined : about.snapLength,
    ),
    i.int64('speed_bps', 'bits per second', ({ about }) => about.speedBps),
    i.text('hardware', 'its hardware', ({ about }) => textOf(about.hardware)),
    i.text('operating_system', 'operating system of its machine', ({ about }) => textOf(about.operatingSystem)),
    i.text('filter', 'capture filter', ({ about }) => textOf(about.filter)),
    i.int64('received', 'packets that came to it, by its statistics', ({ about }) =>
      counted(about.statistics?.received),
    ),
    i.int64('dropped', 'of these, without room for them', ({ about }) => counted(about.statistics?.dropped)),
    i.int64('dropped_by_os', 'dropped by the operating system', ({ about }) => counted(about.statistics?.droppedByOs)),
  ],
};

function textOf(text: string | undefined): Value {
  return text === undefined || text === '' ? undefined : text;
}

function counted(value: number | undefined): number | undefined {
  return value === undefined ? undefined : known(value);
}
