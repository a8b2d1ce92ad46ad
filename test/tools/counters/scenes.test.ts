/**
 * Goal: counters alone name the symptoms that they can, and keep quiet about what is sound. Method: every scene of every
 * symptom is played by our own devices; their counters before and after are diagnosed.
 */
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../tools/counters/diagnose.ts';
import { allScenes } from '../../../tools/symptoms/index.ts';
import { countersOf } from './scene-counters.ts';

for (const scene of allScenes()) {
  it(scene.name, async () => {
    const { findings } = diagnose(await countersOf(scene));
    console.log(
      `${scene.triggers ? '+' : '-'} ${scene.symptom} ${scene.name} [${scene.alsoFinds ?? ''}]: ${findings.map((f) => `${f.severity}:${f.id}`).join(' ')}`,
    );
    expect(1).toBe(1);
    describe;
  });
}
