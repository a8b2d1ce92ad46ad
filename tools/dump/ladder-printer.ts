/**
 * Packets as a ladder: two hosts, and an arrow for each frame between them, drawn as frames come.
 *
 * Owns which host is on the left, the one of each pair that sends first, and the PSNs of each pair. `tools/ladder/`
 * draws.
 */
import { formatFrame, frameDestination, frameSource } from 'rocev2/packets';
import { IcrcState, icrcState, Mark } from 'rocev2/pcap';
import type { FilterSubject } from 'rocev2/pcap/filter';
import { LadderReader, LadderStream, type LadderStreamLayout, StepMark } from '../ladder/index.ts';
import type { PacketPrinter } from './printers.ts';
import type { TimeColumn } from './time-text.ts';

/** Two hosts with packets between them. */
interface Pair {
  readonly left: string;
  readonly right: string;
  readonly reader: LadderReader;
}

export class LadderPrinter implements PacketPrinter {
  readonly #time: TimeColumn;
  readonly #stream: LadderStream;
  readonly #pairs = new Map<string, Pair>();

  constructor(time: TimeColumn, layout: LadderStreamLayout) {
    this.#time = time;
    this.#stream = new LadderStream(layout);
  }

  heading(): string {
    return '';
  }

  print(subject: FilterSubject): string {
    const { packet, dissection } = subject;
    const { frame, status } = dissection;
    const timeNs = this.#time.sinceFirst(packet);
    if (!dissection.linkKnown || frame.ipVersion === 0) {
      const words = dissection.linkKnown ? formatFrame(frame, status, true) : `link type ${packet.linkType}`;
      return lines(this.#stream.note(timeNs, words));
    }
    const source = frameSource(frame).toString();
    const { left, right, reader } = this.#pairOf(source, frameDestination(frame).toString());
    const fromLeft = source === left;
    const step = reader.readFrame(frame, status, { timeNs, fromLeft, marks: marksOf(subject) });
    return lines(this.#stream.push(step, left, right));
  }

  flush(): string {
    return lines(this.#stream.flush());
  }

  #pairOf(source: string, destination: string): Pair {
    const key = source < destination ? `${source} ${destination}` : `${destination} ${source}`;
    const known = this.#pairs.get(key);
    if (known !== undefined) return known;
    // A scan of a network makes pairs without end: what is forgotten begins anew, with PSNs counted from there.
    if (this.#pairs.size >= MOST_PAIRS) this.#pairs.clear();
    const pair = { left: source, right: destination, reader: new LadderReader({ marked: true }) };
    this.#pairs.set(key, pair);
    return pair;
  }
}

/** What the ladder can say of what the wire did: what the analysis says, as every other view does. */
function marksOf({ dissection, facts }: FilterSubject): number {
  const marks = facts?.marks ?? 0;
  return (
    (icrcState(dissection) === IcrcState.Bad ? StepMark.Corrupt : StepMark.None) |
    ((marks & Mark.Retransmission) === 0 ? StepMark.None : StepMark.Retransmit) |
    ((marks & Mark.Copy) === 0 ? StepMark.None : StepMark.Duplicated) |
    ((marks & Mark.Late) === 0 ? StepMark.None : StepMark.Late)
  );
}

function lines(texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join('');
}

const MOST_PAIRS = 4096;
