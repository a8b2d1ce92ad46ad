/**
 * Goal: the demo is the same for the same seed, its capture is what happened, and a wrong byte or a broken connection
 * is not passed over. Method: runs in virtual time; the command itself in a process of its own.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readCapture } from '../../pcap/index.ts';
import { compareRows } from '../../tools/demo/confirm.ts';
import { recovery } from '../../tools/demo/excerpt.ts';
import { demoCommand } from '../../tools/demo/main.ts';
import { badLines, cleanLines, closingLines, isRight, openingLines, verdictLines } from '../../tools/demo/report.ts';
import { type DemoRun, type Phase, runDemo } from '../../tools/demo/run.ts';
import { DEFAULT_SETTINGS, type DemoSettings, messageSizes } from '../../tools/demo/settings.ts';
import { StepMark } from '../../tools/ladder/index.ts';
import { startRoce } from './roce/run-roce.ts';

const SMALL: DemoSettings = { ...DEFAULT_SETTINGS, maxSize: 64 * 1024, loss: 0.03 };
const scratch = mkdtempSync(join(tmpdir(), 'roce-demo-'));
afterAll(() => rmSync(scratch, { recursive: true }));

const textOf = (run: DemoRun): string =>
  [
    ...openingLines(run.settings),
    ...cleanLines(run, { color: false }),
    ...badLines(run, { color: false }),
    ...verdictLines(run, { color: false }),
    ...closingLines('demo.pcapng', true),
  ].join('\n');

const phaseOf = (run: DemoRun, name: Phase['name']): Phase => {
  const phase = run.phases.find((one) => one.name === name);
  if (phase === undefined) throw new Error(`no phase ${name}`);
  return phase;
};

describe('a run of the demo', () => {
  it('gives the same text and the same capture, byte for byte, for the same seed, and others for another', async () => {
    const [one, two, other] = [await runDemo(SMALL), await runDemo(SMALL), await runDemo({ ...SMALL, seed: 2 })];
    expect(textOf(two)).toBe(textOf(one));
    expect(Buffer.compare(two.capture, one.capture)).toBe(0);
    expect(textOf(other)).not.toBe(textOf(one));
    expect(Buffer.compare(other.capture, one.capture)).not.toBe(0);
  });

  it('does every operation with every size on both wires, right to the byte, with every path MTU', async () => {
    for (const mtu of [256, 512, 1024, 2048, 4096]) {
      const run = await runDemo({ ...SMALL, mtu });
      expect([mtu, isRight(run), run.failure]).toEqual([mtu, true, undefined]);
      for (const phase of run.phases) {
        const sent = phase.transfers.filter(({ operation }) => operation === 'SEND').map(({ bytes }) => bytes);
        expect(sent).toEqual(messageSizes({ ...SMALL, mtu }));
        expect(new Set(phase.transfers.map(({ operation }) => operation)).size).toBe(6);
      }
    }
  });

  it('loses nothing on the clean wire and meets every fault on the bad one', async () => {
    const run = await runDemo({ ...SMALL, maxSize: 512 * 1024 });
    const { counts: clean } = phaseOf(run, 'clean');
    expect(Object.entries(clean).filter(([name, count]) => name !== 'frames' && count > 0)).toEqual([]);
    const { counts } = phaseOf(run, 'bad');
    for (const name of ['lost', 'duplicated', 'reordered', 'corrupted', 'naks', 'retransmitted', 'badIcrc'] as const) {
      expect([name, counts[name] > 0]).toEqual([name, true]);
    }
    expect(counts.badIcrc).toBeLessThanOrEqual(counts.corrupted * 2);
  });

  it('notices one wrong byte in any operation', async () => {
    for (const victim of ['SEND', 'WRITE', 'READ', 'COMPARE & SWAP'] as const) {
      const run = await runDemo({ ...SMALL, maxSize: 2000, loss: 0 }, (memory, operation) => {
        if (operation === victim) memory[0] = (memory[0] ?? 0) ^ 1;
      });
      expect(isRight(run)).toBe(false);
      const wrong = run.phases.flatMap(({ transfers }) => transfers).filter(({ faults }) => faults.length > 0);
      expect(new Set(wrong.map(({ operation }) => operation))).toEqual(new Set([victim]));
      expect(verdictLines(run, { color: false }).join('\n')).toContain(`WRONG: ${victim}`);
    }
  });

  it('notices a byte written behind a message', async () => {
    const run = await runDemo({ ...SMALL, maxSize: 2000 }, (memory, operation) => {
      if (operation === 'WRITE') memory[2063] = 0;
    });
    const [wrong] = run.phases.flatMap(({ transfers }) => transfers).filter(({ faults }) => faults.length > 0);
    expect(wrong).toMatchObject({ operation: 'WRITE', bytes: 2000 });
    expect(wrong?.faults.join()).toContain('behind');
  });

  it('says so when the connection breaks', async () => {
    const run = await runDemo({ ...SMALL, loss: 1 });
    expect(run.failure).toContain('transport retry counter exceeded');
    expect(isRight(run)).toBe(false);
    expect(verdictLines(run, { color: false }).join('\n')).toContain('STOPPED');
  });

  it('runs where nothing ever goes wrong, with nothing but empty messages', async () => {
    const run = await runDemo({ ...SMALL, maxSize: 0, loss: 0, duplicate: 0, reorder: 0, corrupt: 0 });
    expect(isRight(run)).toBe(true);
    expect(badLines(run, { color: false })).toContain('No frame met a fault this time.');
  });
});

describe('the report', () => {
  it('shows a lost packet, the NAK for it, and the go-back', async () => {
    const run = await runDemo({ ...SMALL, maxSize: 512 * 1024 });
    const { steps, hurt } = recovery(run, phaseOf(run, 'bad'));
    expect((hurt?.marks ?? 0) & StepMark.Lost).toBe(StepMark.Lost);
    const at = [
      hurt === undefined ? -1 : steps.indexOf(hurt),
      steps.findIndex((step) => step.marks === StepMark.Nak && step.psn === hurt?.psn),
      steps.findIndex((step) => (step.marks & StepMark.Retransmit) !== 0 && step.psn === hurt?.psn),
    ];
    expect(at[0]).toBeGreaterThanOrEqual(0);
    expect(at[1]).toBeGreaterThan(at[0] ?? 0);
    expect(at[2]).toBeGreaterThan(at[1] ?? 0);
    expect(badLines(run, { color: false }).join('\n')).toContain(`psn ${hurt?.psn} never arrived`);
  });

  it('proposes command lines that the demo takes', () => {
    const proposed = closingLines('demo.pcapng', false)
      .filter((line) => line.startsWith('  roce demo '))
      .map((line) => line.slice('  roce demo '.length).split('   ', 1)[0]?.trim().split(' ') ?? []);
    expect(proposed.length).toBeGreaterThanOrEqual(3);
    for (const words of proposed) {
      const command = demoCommand()
        .exitOverride()
        .configureOutput({ writeErr: () => {} });
      // Throws for what the command line refuses.
      expect(command.parseOptions(words).operands, words.join(' ')).toEqual([]);
    }
  });

  it('fits 100 columns', async () => {
    const run = await runDemo(SMALL);
    expect(
      textOf(run)
        .split('\n')
        .filter((line) => line.length > 100),
    ).toEqual([]);
  });
});

describe('the capture of the demo', () => {
  it('has every frame, and comments on what the wire hurt that agree with its counters', async () => {
    const run = await runDemo(SMALL);
    const packets = [...readCapture(run.capture)];
    const comments = packets.flatMap((packet) => packet.comments);
    const { counts } = phaseOf(run, 'bad');
    expect(packets).toHaveLength(run.captureFrames);
    const count = (word: string): number => comments.filter((comment) => comment.startsWith(word)).length;
    // The connection is closed after the counting, on the same bad wire: it may lose a frame more.
    expect(count('LOST') - counts.lost).toBeGreaterThanOrEqual(0);
    expect(count('LOST') - counts.lost).toBeLessThan(5);
    expect(count('DUPLICATED')).toBeGreaterThanOrEqual(counts.duplicated);
    expect(run.damagedFrames.size).toBe(count('CORRUPT'));
    const times = packets.map(({ seconds, nanoseconds }) => seconds * 1e9 + nanoseconds);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  it('is compared with what tshark says packet by packet', async () => {
    const run = await runDemo({ ...SMALL, maxSize: 100, corrupt: 0 });
    const expected = new Map(run.expectedFrames.map((frame) => [frame.number, frame]));
    const rows = Array.from({ length: run.captureFrames }, (_, index) => {
      const frame = expected.get(index + 1);
      return new Map([
        ['infiniband.bth.opcode', frame === undefined ? [] : [String(frame.opcode)]],
        ['infiniband.bth.destqp', frame === undefined ? [] : [`0x${frame.destQpn.toString(16)}`]],
        ['infiniband.bth.psn', frame === undefined ? [] : [String(frame.psn)]],
      ]);
    });
    expect(compareRows(run, rows, '4').agrees).toBe(true);
    expect(compareRows(run, rows.slice(0, -1), '4').agrees).toBe(false);
    const last = rows[rows.length - 1];
    last?.set('infiniband.bth.psn', ['0']);
    expect(compareRows(run, rows, '4').agrees).toBe(false);
    const malformed = rows.map((row, index) => (index === 3 ? new Map([...row, ['_ws.malformed', ['x']]]) : row));
    expect(compareRows(run, malformed, '4').lines.join()).toContain('DISAGREES');
  });
});

describe('roce demo', () => {
  it('ends with 0 and writes the capture that it tells of', async () => {
    const file = join(scratch, 'demo.pcapng');
    const { code, stdout, stderr } = await startRoce(['demo', '--max-size', '5000', '--write', file]).ended;
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('every one is right');
    expect(stdout).toMatch(/tshark {3}(not installed, skipped|\S+ finds the same)/);
    const run = await runDemo({ ...DEFAULT_SETTINGS, maxSize: 5000 });
    expect(Buffer.compare(readFileSync(file), run.capture)).toBe(0);
  });

  it('ends with 1 when the connection breaks', async () => {
    const file = join(scratch, 'broken.pcapng');
    const { code, stdout } = await startRoce(['demo', '--max-size', '100', '--loss', '100%', '--write', file]).ended;
    expect(code).toBe(1);
    expect(stdout).toContain('STOPPED');
  });

  it('ends with 2 for a command line that makes no sense', async () => {
    for (const flags of [
      ['--loss', '5'],
      ['--mtu', '1500'],
      ['--seed', 'x'],
      ['--max-size', '-1'],
    ]) {
      const { code, stderr } = await startRoce(['demo', ...flags]).ended;
      expect([flags, code]).toEqual([flags, 2]);
      expect(stderr.trim().split('\n')).toHaveLength(1);
    }
  });
});
