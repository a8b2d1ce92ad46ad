/**
 * Goal: each symptom is found where it is and nowhere else: every scene gives exactly the alarms that are right in it,
 * whichever symptom it is about. Method: all scenes of all symptoms through the whole analysis, with all detectors and
 * rules; what a scene is made of is the same each time.
 */
import { describe, expect, it } from 'vitest';
import { SYMPTOMS } from '../../../../pcap/analysis/detectors/index.ts';
import { allScenes } from '../../../../tools/symptoms/index.ts';
import { alarmIds, alarms, analyze, expectedIds } from './support.ts';

const SCENES = allScenes();

describe('scenes', () => {
  it('have names of their own', () => {
    expect(new Set(SCENES.map(({ name }) => name)).size).toBe(SCENES.length);
  });

  it('are about symptoms that are looked for, each shown and each with a neighbour that is not one', () => {
    const known = SYMPTOMS.map(({ id }) => id);
    for (const id of known) {
      const about = SCENES.filter(({ symptom }) => symptom === id);
      expect([id, about.some(({ triggers }) => triggers), about.some(({ triggers }) => !triggers)]).toEqual([
        id,
        true,
        true,
      ]);
    }
    for (const { symptom } of SCENES) expect(known).toContain(symptom);
  });

  it.each(SCENES.map((scene) => ({ title: `${scene.name}: ${scene.about}`, scene })))('$title', async ({ scene }) => {
    const capture = await scene.make();
    const analysis = analyze(capture);
    expect(alarmIds(analysis)).toEqual(expectedIds(scene));
    for (const { id, text, frames, frameCount, advice, commands } of alarms(analysis)) {
      expect([id, text.length > 40, text.includes('undefined'), text.includes('NaN')]).toEqual([
        id,
        true,
        false,
        false,
      ]);
      expect(
        frames.every((frame, index) => frame > (frames[index - 1] ?? 0) && frame <= analysis.capture.packets),
      ).toBe(true);
      expect(frames.length).toBeGreaterThan(0);
      expect(frameCount).toBeGreaterThanOrEqual(frames.length);
      expect(advice.length).toBeGreaterThan(0);
      if (!id.startsWith('rule/')) expect(commands.length).toBeGreaterThan(0);
    }
  });

  it('are the same bytes each time', async () => {
    for (const scene of SCENES.filter((_, index) => index % 13 === 0)) {
      const [once, again] = [await scene.make(), await scene.make()];
      expect([scene.name, Buffer.compare(once, again)]).toEqual([scene.name, 0]);
    }
  });
});
