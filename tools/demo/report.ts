/**
 * The texts of the demo: what a reader who has never seen RDMA needs to follow it, the ladders, and the tables. Owns
 * the text. Never runs anything; the same run gives the same lines.
 */
import type { Analysis } from 'rocev2/pcap';
import { overviewLines } from '../analyze/index.ts';
import { drawLadder, type LadderStep, StepMark } from '../ladder/index.ts';
import { formatBytes, formatTable, grouped } from '../table.ts';
import { shellQuote } from '../visible-text.ts';
import { introduction, recovery } from './excerpt.ts';
import { OPERATIONS } from './exchange.ts';
import type { Counts, DemoRun, Phase, RecordedTransfer } from './run.ts';
import type { DemoSettings } from './settings.ts';

export interface DemoReportOptions {
  /** ANSI colours. */
  readonly color: boolean;
}

/** The introduction. */
export function openingLines({ seed, mtu }: DemoSettings): string[] {
  return [
    'rocev2 demo: two RDMA devices, A and B, and every packet between them',
    '',
    'With RDMA a program reads and writes the memory of another machine. Each end has a queue pair:',
    'A posts a request, cuts it into packets, B puts the bytes where they belong and acknowledges, and A',
    'gets a completion. Packets are numbered (PSN), so that a lost one is noticed and sent again: that',
    'is what "reliable connection" means. Devices and wire run in this process, in virtual time:',
    `10 Gb/s Ethernet, 1 us each way, ${mtu} bytes of payload a packet. All chance follows from seed ${seed}.`,
  ];
}

export function cleanLines(run: DemoRun, options: DemoReportOptions): string[] {
  const phase = phaseNamed(run, 'clean');
  if (phase === undefined) return [];
  return [
    ...title('1. A wire that loses nothing', options),
    '',
    'A finds B, connects through the connection manager (CM), then does one of each; psn counts from 0:',
    '',
    ...drawLadder(introduction(run).steps, { left: 'A', right: 'B', originNs: 0, color: options.color }),
    '',
    'SEND goes to a buffer that B has posted. WRITE and READ name an address in B and need no help from',
    'its program. Atomics change 8 bytes of B in one go and bring the old value home. In every size:',
    '',
    ...transferTable(run, phase),
  ];
}

export function badLines(run: DemoRun, options: DemoReportOptions): string[] {
  const phase = phaseNamed(run, 'bad');
  if (phase === undefined) return [];
  const { loss, duplicate, reorder, corrupt } = run.settings;
  const faults = `${percent(loss)} lost, ${percent(duplicate)} doubled, ${percent(reorder)} overtaken, ${percent(corrupt)} with a flipped bit`;
  const { steps, hurt } = recovery(run, phase);
  return [
    ...title(`2. The same on a bad wire: ${faults}`, options),
    '',
    ...(hurt === undefined
      ? ['No frame met a fault this time.']
      : [
          ...drawLadder(steps, { left: 'A', right: 'B', originNs: 0, color: options.color }),
          '',
          ...explain(hurt, steps),
        ]),
    '',
    ...transferTable(run, phase),
    '',
    ...countTable(phase.counts),
  ];
}

/** Whether all bytes are right, with every fault if not. */
export function verdictLines(run: DemoRun, options: DemoReportOptions): string[] {
  const transfers = run.phases.flatMap((phase) => phase.transfers);
  const wrong = transfers.filter((transfer) => transfer.faults.length > 0);
  const bytes = transfers.reduce((sum, transfer) => sum + transfer.bytes, 0);
  const lines = title('3. Was it right?', options);
  lines.push('');
  if (run.failure !== undefined) lines.push(...failureLines(run.failure));
  for (const { operation, bytes: size, faults } of wrong.slice(0, MOST_FAULTS)) {
    lines.push(`  WRONG: ${operation} of ${formatBytes(size)}: ${faults.join('; ')}`);
  }
  if (wrong.length > MOST_FAULTS) lines.push(`  ... and ${wrong.length - MOST_FAULTS} more`);
  if (isRight(run)) {
    lines.push(`  bytes    all ${grouped(bytes)} bytes of ${transfers.length} messages compared: every one is right`);
  } else lines.push(`  bytes    ${wrong.length} of ${transfers.length} messages are wrong`);
  return lines;
}

/** Whether every message completed with the right bytes. */
export function isRight(run: DemoRun): boolean {
  const faultless = run.phases.every((phase) => phase.transfers.every(({ faults }) => faults.length === 0));
  return run.failure === undefined && run.phases.length === 2 && faultless;
}

/**
 * What the capture shows, counted as every view of a capture counts, and why that is not what the devices counted.
 * Nothing when there is no conversation in it.
 */
export function seenLines({ conversations }: Analysis, options: DemoReportOptions): string[] {
  if (conversations.length === 0) return [];
  return [
    ...title('4. What a capture shows of it', options),
    '',
    ...overviewLines(conversations),
    '',
    'These are the figures of "roce analyze" and every other view: of both wires together, and only of what',
    'packets show. The table of part 2 has what the wire did and the devices counted. They differ: a packet',
    'repeated and damaged is not seen as resent; READ responses that come again are resent, too; an',
    'expired timer shows as a timeout only where nothing else explains what is sent again; and packets do',
    'not always tell whether one was lost or overtaken.',
  ];
}

/** @param sources whether this runs from the sources, where commands are npm's */
export function closingLines(captureFile: string, sources: boolean): string[] {
  const demo = sources ? 'npm start --' : 'roce demo';
  const roce = sources ? 'npm run roce --' : 'roce';
  const file = shellQuote(captureFile);
  return [
    '',
    'What to try next',
    `  ${`${demo} --loss 10% --seed 7`.padEnd(HINT_COLUMNS)}  more of it, other luck`,
    `  ${`${demo} --loss 0 --reorder 20%`.padEnd(HINT_COLUMNS)}  overtaken packets look like lost ones: see the NAKs`,
    `  ${`${demo} --mtu 4096`.padEnd(HINT_COLUMNS)}  fewer, larger packets`,
    `  ${`${roce} analyze ${file}`.padEnd(HINT_COLUMNS)}  what was wrong, and which packets prove it`,
    `  ${`${roce} view ${file}`.padEnd(HINT_COLUMNS)}  the capture in the browser, and a playground`,
    `  ${`${roce} dump ${file}`.padEnd(HINT_COLUMNS)}  the capture in words`,
    `  ${`wireshark ${file}`.padEnd(HINT_COLUMNS)}  filter "frame.comment" shows what the wire hurt`,
  ];
}

function failureLines(failure: string): string[] {
  return [
    `  STOPPED: ${failure}`,
    '           (a queue pair gives up after 7 tries without progress; with less loss it gets through)',
  ];
}

/** A description of the ladder above, made from its steps. */
function explain(hurt: LadderStep, steps: readonly LadderStep[]): string[] {
  const nak = steps.find((step) => (step.marks & StepMark.Nak) !== 0);
  const what = FATES.find(([mark]) => (hurt.marks & mark) !== 0)?.[1] ?? '';
  if (hurt.psn === undefined) return [];
  if (nak === undefined) return [`psn ${hurt.psn} ${what}.`];
  return [
    `psn ${hurt.psn} ${what}. B takes packets in order only: it asks for psn ${nak.psn}`,
    '(NAK) and drops what comes behind it. A goes back and sends all from there on again: "go-back-N".',
  ];
}

function transferTable(run: DemoRun, phase: Phase): string[] {
  const rows = OPERATIONS.map((operation) => {
    const transfers = phase.transfers.filter((transfer) => transfer.operation === operation);
    return [operation, sizesOf(transfers), ...totals(transfers), verdictOf(transfers)];
  }).filter((row) => row[1] !== '');
  const all: string[] = ['all', '', ...totals(phase.transfers), verdictOf(phase.transfers)];
  const time = `${(phase.durationNs / 1e6).toFixed(2)} ms of virtual time, ${run.settings.mtu} bytes a packet`;
  return [
    ...formatTable(
      ['operation', 'sizes', 'messages', 'bytes', 'packets', 'bytes right?'],
      [...rows, all],
      ['left', 'left', 'right', 'right', 'right', 'left'],
    ),
    `  ${time}`,
  ];
}

function totals(transfers: readonly RecordedTransfer[]): string[] {
  const bytes = transfers.reduce((sum, transfer) => sum + transfer.bytes, 0);
  const packets = transfers.reduce((sum, { fromStep, toStep }) => sum + toStep - fromStep, 0);
  return [transfers.length, bytes, packets].map(grouped);
}

function sizesOf(transfers: readonly RecordedTransfer[]): string {
  const sizes = [...new Set(transfers.map(({ bytes }) => bytes))];
  const [first] = sizes;
  const last = sizes[sizes.length - 1];
  if (first === undefined || last === undefined) return '';
  return first === last ? formatBytes(first) : `${formatBytes(first)} .. ${formatBytes(last)}`;
}

function verdictOf(transfers: readonly RecordedTransfer[]): string {
  return transfers.every(({ faults }) => faults.length === 0) ? 'yes' : 'NO';
}

/**
 * What the wire did on the left, what the devices counted on the right. No name of it is a name of a capture's figures
 * (`seenLines`): those are counted otherwise.
 */
function countTable(counts: Counts): string[] {
  const wire: [string, number][] = [
    ['frames sent', counts.frames],
    ['dropped', counts.lost],
    ['doubled', counts.duplicated],
    ['held back', counts.reordered],
    ['bit flipped', counts.corrupted],
  ];
  const devices: [string, string][] = [
    ['refused for a wrong ICRC', grouped(counts.badIcrc)],
    ['sequence NAKs sent', grouped(counts.naks)],
    ['old requests not done twice', grouped(counts.duplicateRequests)],
    ['gone back: NAK or gap / ACK timer expired', `${grouped(counts.wentBack)} / ${grouped(counts.timeouts)}`],
    ['request packets repeated', grouped(counts.retransmitted)],
  ];
  return formatTable(
    ['what the wire did', '', '', 'what the devices counted', ''],
    wire.map(([name, count], row) => [name, grouped(count), '  ', ...(devices[row] ?? ['', ''])]),
    ['left', 'right', 'left', 'left', 'right'],
  );
}

function title(text: string, { color }: DemoReportOptions): string[] {
  return ['', color ? `\x1b[1m${text}\x1b[0m` : text];
}

function phaseNamed(run: DemoRun, name: Phase['name']): Phase | undefined {
  return run.phases.find((phase) => phase.name === name);
}

function percent(probability: number): string {
  return `${Number((probability * 100).toFixed(4))} %`;
}

const MOST_FAULTS = 5;
const HINT_COLUMNS = 36;
const FATES: readonly (readonly [mark: number, words: string])[] = [
  [StepMark.Lost, 'never arrived'],
  [StepMark.Corrupt, 'arrived damaged (wrong ICRC) and was dropped'],
  [StepMark.Late, 'was overtaken by others'],
  [StepMark.Duplicated, 'arrived twice; B did it once'],
];
