/**
 * One pcapng interface: its description block and its statistics blocks.
 *
 * Owns the options of these two blocks. Source: draft-ietf-opsawg-pcapng, sections on the interface description and the
 * interface statistics blocks.
 */

import type { Block } from './pcapng-block.ts';
import { Option } from './pcapng-blocks.ts';
import { MICROSECOND_RESOLUTION, PcapngClock } from './pcapng-clock.ts';
import type { TextBudget } from './text-budget.ts';
import type { CaptureInterface, CaptureTime, InterfaceStatistics } from './types.ts';

export class PcapngInterface implements CaptureInterface {
  readonly linkType: number;
  readonly snapLength: number;
  readonly section: number;
  readonly name: string;
  readonly description: string;
  readonly comments: readonly string[];
  readonly filter: string;
  readonly hardware: string;
  readonly operatingSystem: string;
  readonly speedBps: number;
  readonly clock: PcapngClock;
  statistics: InterfaceStatistics | undefined = undefined;

  /**
   * Reads an interface description block whose fixed bytes are there. Unknown options and options of a wrong size are
   * ignored.
   */
  constructor(block: Block, section: number, budget: TextBudget) {
    const texts = { name: '', description: '', filter: '', hardware: '', operatingSystem: '' };
    const comments: string[] = [];
    let resolution = MICROSECOND_RESOLUTION;
    let offsetSeconds = 0;
    let speedBps = 0;
    block.optionsAt(INTERFACE_FIXED_BYTES);
    while (block.nextOption()) {
      const { code, valueAt, valueLength } = block;
      const text = TEXT_OPTIONS.get(code);
      if (text !== undefined) texts[text] = budget.keep(block.optionText());
      else if (code === Option.Comment) keepComment(block, budget, comments);
      else if (code === Option.InterfaceFilter && valueLength > 1 && block.u8(valueAt) === TEXT_FILTER) {
        texts.filter = budget.keep(block.text(valueAt + 1, valueLength - 1));
      } else if (code === Option.TimestampResolution && valueLength === 1) resolution = block.u8(valueAt);
      else if (code === Option.TimestampOffset && valueLength === 8) offsetSeconds = Number(block.i64(valueAt));
      else if (code === Option.InterfaceSpeed && valueLength === 8) speedBps = Number(block.u64(valueAt));
    }
    this.linkType = block.u16(0);
    this.snapLength = block.u32(4);
    this.section = section;
    this.name = texts.name;
    this.description = texts.description;
    this.filter = texts.filter;
    this.hardware = texts.hardware;
    this.operatingSystem = texts.operatingSystem;
    this.comments = comments;
    this.speedBps = speedBps;
    this.clock = new PcapngClock(resolution, offsetSeconds);
  }

  /** Reads a statistics block whose fixed bytes are there. */
  readStatistics(block: Block, budget: TextBudget): void {
    const counts: { -readonly [Name in CountName]?: number } = {};
    const times: { start?: CaptureTime; end?: CaptureTime } = {};
    const comments: string[] = [];
    for (const comment of this.statistics?.comments ?? []) budget.release(comment);
    block.optionsAt(STATISTICS_FIXED_BYTES);
    while (block.nextOption()) {
      const { code, valueAt, valueLength } = block;
      const count = COUNT_OPTIONS.get(code);
      if (code === Option.Comment) keepComment(block, budget, comments);
      else if (valueLength !== 8) continue;
      else if (count !== undefined) counts[count] = Number(block.u64(valueAt));
      else if (code === Option.StatisticsStart) times.start = this.timeAt(block, valueAt);
      else if (code === Option.StatisticsEnd) times.end = this.timeAt(block, valueAt);
    }
    this.statistics = {
      ...this.timeAt(block, 4),
      ...times,
      ...counts,
      ...(comments.length === 0 ? {} : { comments }),
    };
  }

  private timeAt(block: Block, at: number): CaptureTime {
    this.clock.read(block.u32(at), block.u32(at + 4));
    return { seconds: this.clock.seconds, nanoseconds: this.clock.nanoseconds };
  }
}

/** Adds the current option, a comment, to `comments`. */
export function keepComment(block: Block, budget: TextBudget, comments: string[]): void {
  const text = block.optionText();
  if (budget.take(text)) comments.push(text);
}

/** Link type, two reserved bytes and the snap length. */
export const INTERFACE_FIXED_BYTES = 8;
/** Interface and time. */
export const STATISTICS_FIXED_BYTES = 12;
type CountName = 'received' | 'dropped' | 'accepted' | 'droppedByOs' | 'delivered';
const COUNT_OPTIONS: ReadonlyMap<number, CountName> = new Map([
  [Option.StatisticsReceived, 'received'],
  [Option.StatisticsDropped, 'dropped'],
  [Option.StatisticsAccepted, 'accepted'],
  [Option.StatisticsDroppedByOs, 'droppedByOs'],
  [Option.StatisticsDelivered, 'delivered'],
]);
const TEXT_OPTIONS: ReadonlyMap<number, 'name' | 'description' | 'hardware' | 'operatingSystem'> = new Map([
  [Option.InterfaceName, 'name'],
  [Option.InterfaceDescription, 'description'],
  [Option.InterfaceHardware, 'hardware'],
  [Option.InterfaceOperatingSystem, 'operatingSystem'],
]);
/** First byte of a filter: text of libpcap and not its bytecode. */
const TEXT_FILTER = 0;
