/**
 * Goal: a run is a record that depends on file, settings and seed alone, and what fails is in it. Method: small scenarios in this process.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CaptureReader, Direction } from '../../../pcap/index.ts';
import { execute } from '../../../tools/sim/run/execute.ts';
import { parseSetting } from '../../../tools/sim/run/plan.ts';
import { recordLine, recordSchema } from '../../../tools/sim/run/record.ts';
import { folder, jobOf, SMALL, small } from './support.ts';

const quiet = (): void => {};

describe('a run', () => {
  it('gives the same line each time, and another one for another seed', () => {
    const lossy = small({ loss: 0.01 });
    const line = recordLine(execute(jobOf(lossy), quiet).record);
    expect(recordLine(execute(jobOf(lossy), quiet).record)).toBe(line);
    const other = execute(jobOf(lossy, { settings: [parseSetting('seed=2')] }), quiet);
    expect(recordLine(other.record)).not.toBe(line);
  });

  it('is a record that is read back as it was, with figures and verdicts', () => {
    const { record, details } = execute(jobOf(SMALL), quiet);
    expect(recordSchema.parse(JSON.parse(recordLine(record)))).toEqual(record);
    expect(record.variants[0]?.figures).toMatchObject({ flows: 2, completed: 2, failed: 0, dropped: 0 });
    expect(record.verdicts).toMatchObject([{ passed: true, figure: 'completed', found: 2 }]);
    expect(details).toBeUndefined();
  });

  it('brings flows, series and the fluid model along where details are wanted', () => {
    const json = small({
      fluid: {},
      congestion: { reaction: { kind: 'dcqcn', profile: 'paper', parameters: { byteCounterBytes: 0 } } },
      expect: [{ figure: 'queueBytes.mean', operator: '<', value: { fluid: 'queueBytes', times: 1000 } }],
    });
    const { record, details } = execute(jobOf(json, { details: true }), quiet);
    const kinds = new Set(details?.variants[0]?.outcome.series.map(({ kind }) => kind));
    expect([...kinds].sort()).toEqual(['alpha', 'cnps', 'pauses', 'queueBytes', 'rateBps', 'targetRateBps']);
    expect(new Set(details?.fluid.map(({ kind }) => kind))).toEqual(
      new Set(['queueBytes', 'rateBps', 'targetRateBps', 'alpha']),
    );
    expect(record.verdicts[0]?.wanted).toBeGreaterThan(0);
  });

  it('that the simulation refuses is a record with the reason', () => {
    const { record } = execute(jobOf(small({ switches: { flowControl: 'pfc', bufferBytes: 1000 } })), quiet);
    expect(record.error).toMatch(/./);
    expect(record.variants).toEqual([]);
  });

  it('tells how far it is, up to the end, over all variants', () => {
    const shares: number[] = [];
    execute(jobOf(small({ compare: { a: {}, b: {} }, expect: [] })), (share) => shares.push(share));
    expect(shares.at(-1)).toBe(1);
    expect(shares).toEqual([...shares].sort((a, b) => a - b));
    expect(shares.some((share) => share > 0 && share <= 0.5)).toBe(true);
  });

  it('leaves a capture of what hosts send and receive, and no more frames than asked for', () => {
    const path = join(folder(), 'frames.pcapng');
    execute({ ...jobOf(SMALL), capture: { path, frames: 50 } }, quiet);
    expect(existsSync(path)).toBe(true);
    const reader = new CaptureReader();
    reader.push(readFileSync(path));
    const packets = [...Array.from({ length: 60 }, () => reader.next() ?? [])].flat();
    expect(packets).toHaveLength(50);
    expect(reader.interfaces.map(({ name }) => name).sort()).toEqual(['host0', 'host1', 'host2']);
    const directions = new Set(packets.map(({ direction }) => direction));
    expect(directions).toEqual(new Set([Direction.Inbound, Direction.Outbound]));
    expect(packets[0]?.direction).toBe(Direction.Outbound);
  });
});
