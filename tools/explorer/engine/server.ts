/**
 * The worker's side of the page: takes requests, answers them, and reads and filters in between.
 *
 * Owns the order of work: requests first, then a slice of reading. The worker is passed in as three functions, so that
 * a test can stand in for it.
 */
import { type Analysis, type CaptureInterface, type ConversationReport, RULE_LIST, SYMPTOMS } from 'rocev2/pcap';
import { verdictText } from '../../analyze/findings-text.ts';
import { isLimited, limitTexts } from '../../analyze/limits-text.ts';
import { activityPicture } from './activity.ts';
import { ladderExcerpt } from './excerpt.ts';
import { exportPackets, shownIndices } from './export.ts';
import { fieldFilter } from './field-filter.ts';
import type { ByteSource } from './file-bytes.ts';
import { completions } from './filter.ts';
import { LadderIndex } from './ladder-index.ts';
import { LadderTime } from './ladder-time.ts';
import type {
  FileContent,
  LadderWish,
  News,
  RequestName,
  Requests,
  Summary,
  SymptomText,
  WorkerReply,
  WorkerRequest,
} from './protocol.ts';
import { ratePicture } from './rates.ts';
import { RowOrder } from './row-order.ts';
import { packetDetail, rowWindow } from './rows.ts';
import { sequencePicture } from './sequence.ts';
import { CaptureSession } from './session.ts';

/** What the server needs from its environment. */
export interface RequestServerHost {
  post(reply: WorkerReply): void;
  /** The bytes of a file. Throws a sentence where there are none. */
  open(content: FileContent): ByteSource;
  /** Calls back when messages that wait have been taken. */
  later(callback: () => void): void;
}

/** Answers requests about one file at a time. */
export class RequestServer {
  readonly #surroundings: RequestServerHost;
  #session: CaptureSession | undefined;
  #ladder: { readonly name: string; readonly index: LadderIndex } | undefined;
  #timeLadder: { readonly name: string; readonly ladder: LadderTime } | undefined;
  #rowOrder: RowOrder | undefined;
  #working = false;
  #slices = 0;
  /** Filters that wait for their end. */
  #waiting: { readonly id: number; readonly fault: Requests['filter']['result']['fault'] }[] = [];

  constructor(surroundings: RequestServerHost) {
    this.#surroundings = surroundings;
  }

  /** Takes one request; every request is answered or refused, once. */
  handle(request: WorkerRequest): void {
    try {
      if (request.name === 'filter') this.#filter(request.id, request.params);
      else this.#answer(request.id, this.#resultOf(request));
    } catch (error) {
      this.#refuse(request.id, error);
    }
  }

  #resultOf(request: Exclude<WorkerRequest, { name: 'filter' }>): Requests[RequestName]['result'] {
    switch (request.name) {
      case 'open':
        this.#open(request.params);
        return null;
      case 'rows':
        return this.#rows(request.params);
      case 'packet':
        return packetDetail(this.#file, request.params.number);
      case 'position':
        return this.#order.rowOfIndex(request.params.number - 1, request.params.sort);
      case 'ladder':
        return this.#ladderOf(request.params).window(request.params.from, request.params.count);
      case 'ladderLine':
        return this.#ladderOf(request.params).lineOf(request.params.number);
      case 'timeLadder':
        return this.#timeLadderOf(request.params).window(request.params.top, request.params.height);
      case 'timeLadderPlace':
        return this.#timeLadderOf(request.params).placeOf(request.params.number);
      case 'excerpt':
        return ladderExcerpt(this.#file, request.params.numbers);
      case 'sequence':
        return sequencePicture(this.#file, request.params);
      case 'activity':
        return activityPicture(this.#file, request.params.bins);
      case 'rates':
        return ratePicture(this.#file, request.params);
      case 'fieldFilter':
        return fieldFilter(this.#file, request.params.number, request.params.field);
      case 'export':
        return this.#export(request.params.numbers);
      case 'complete':
        return completions(request.params.text, request.params.cursor);
    }
  }

  get #file(): CaptureSession {
    if (this.#session === undefined) throw new Error('no file is open');
    return this.#session;
  }

  get #order(): RowOrder {
    this.#rowOrder ??= new RowOrder(this.#file);
    return this.#rowOrder;
  }

  #rows({ from, count, sort }: Requests['rows']['params']): Requests['rows']['result'] {
    return rowWindow(this.#file, from, count, (row) => this.#order.indexOfRow(row, sort));
  }

  #export(numbers: readonly number[] | undefined): Blob {
    const session = this.#file;
    const indices = numbers?.map((number) => number - 1) ?? shownIndices(session);
    return new Blob(exportPackets(session, indices, `packets of ${session.name}`) as Uint8Array<ArrayBuffer>[]);
  }

  /** One ladder is kept: the page shows one at a time. */
  #ladderOf({ conversation, fromNs, toNs }: LadderWish): LadderIndex {
    const name = `${conversation} ${fromNs} ${toNs}`;
    if (this.#ladder?.name !== name)
      this.#ladder = { name, index: new LadderIndex(this.#file, conversation, fromNs, toNs) };
    return this.#ladder.index;
  }

  #timeLadderOf(wish: LadderWish & { readonly zoom: number }): LadderTime {
    const zoom = Math.max(-MOST_ZOOM, Math.min(MOST_ZOOM, wish.zoom));
    const name = `${wish.conversation} ${wish.fromNs} ${wish.toNs} ${zoom} ${this.#file.done}`;
    if (this.#timeLadder?.name !== name) this.#timeLadder = { name, ladder: new LadderTime(this.#file, wish, zoom) };
    return this.#timeLadder.ladder;
  }

  #open({ name, content }: Requests['open']['params']): void {
    for (const { id } of this.#waiting.splice(0)) this.#refuse(id, new Error('another file was opened'));
    this.#session = undefined;
    this.#session = new CaptureSession(name, this.#surroundings.open(content));
    this.#ladder = undefined;
    this.#timeLadder = undefined;
    this.#rowOrder = undefined;
    this.#slices = 0;
    this.#work();
  }

  #filter(id: number, { text, fromNs = 0, toNs = 0 }: Requests['filter']['params']): void {
    const session = this.#file;
    for (const waiting of this.#waiting.splice(0))
      this.#answer(waiting.id, { shown: session.shown, fault: waiting.fault });
    const fault = session.setFilter(text, fromNs, toNs);
    this.#waiting.push({ id, fault });
    this.#work();
  }

  #work(): void {
    if (this.#working) return;
    this.#working = true;
    this.#surroundings.later(() => {
      this.#working = false;
      const session = this.#session;
      if (session === undefined) return;
      const more = session.work(SLICE);
      if (session.filterIsDone) {
        for (const { id, fault } of this.#waiting.splice(0)) this.#answer(id, { shown: session.shown, fault });
      }
      if (!more || this.#slices++ % NEWS_EVERY === 0) this.#tell(session);
      if (more) this.#work();
    });
  }

  #tell(session: CaptureSession): void {
    const news: News = {
      name: session.name,
      packets: session.table.length,
      bytesRead: session.bytesRead,
      bytes: session.size,
      done: session.done,
      problem: session.problem,
      interfaces: session.interfaces,
      startTime: session.startTime,
      shown: session.shown,
      analysis: session.analysis === null ? null : bounded(session.analysis),
      summary: session.analysis === null ? null : summaryOf(session.analysis, session.interfaces),
    };
    this.#surroundings.post({ kind: 'news', news });
  }

  #answer(id: number, result: unknown): void {
    this.#surroundings.post({ kind: 'answer', id, result });
  }

  #refuse(id: number, error: unknown): void {
    this.#surroundings.post({ kind: 'refusal', id, sentence: error instanceof Error ? error.message : String(error) });
  }
}

function summaryOf(analysis: Analysis, interfaces: readonly CaptureInterface[]): Summary {
  const { places, limits } = limitTexts(
    analysis,
    interfaces.map(({ name }) => name),
  );
  return {
    verdict: verdictText(analysis.findings, analysis.capture, isLimited(analysis)),
    places: places.slice(0, MOST_SENTENCES),
    limits: limits.slice(0, MOST_SENTENCES),
    symptoms: [...new Set(analysis.findings.map(({ id }) => id))].flatMap(symptomText),
  };
}

/** None for a finding that is neither a symptom nor a rule. */
function symptomText(id: string): SymptomText[] {
  const symptom = SYMPTOMS.find((one) => one.id === id);
  if (symptom !== undefined) {
    const { title, complaint, about } = symptom;
    return [{ id, title, complaint, about, source: '' }];
  }
  const rule = RULE_LIST.find((one) => `rule/${one.id}` === id);
  return rule === undefined ? [] : [{ id, title: '', complaint: '', about: rule.says, source: rule.source }];
}

/**
 * What a page can show: events stay here, and of very many conversations only those with findings and the longest are
 * sent.
 */
function bounded(analysis: Analysis): Analysis {
  const { conversations, conversationsOmitted, findings } = analysis;
  const accused = new Set(findings.flatMap((finding) => finding.conversations));
  const weight = ({ id, ends }: ConversationReport): number =>
    (accused.has(id) ? Number.MAX_SAFE_INTEGER / 2 : 0) + ends[0].packets + ends[1].packets;
  const told =
    conversations.length <= MOST_CONVERSATIONS
      ? conversations
      : [...conversations]
          .sort((a, b) => weight(b) - weight(a))
          .slice(0, MOST_CONVERSATIONS)
          .sort((a, b) => a.id - b.id);
  return {
    ...analysis,
    events: [],
    paths: analysis.paths.map((path) => ({ ...path, events: path.events.slice(0, MOST_PATH_EVENTS) })),
    conversations: told,
    conversationsOmitted: conversationsOmitted + conversations.length - told.length,
  };
}

const MOST_SENTENCES = 100;
const MOST_CONVERSATIONS = 300;
const MOST_PATH_EVENTS = 50;
/** Packets per slice: a few milliseconds, so that no request waits. */
const SLICE = 2000;
const NEWS_EVERY = 10;
const MOST_ZOOM = 30;
