/**
 * Goal: no lesson tells what is not so. Method: every lesson is followed through the real stack, stop by stop, and
 * every promise is checked where it is made; a lesson that promises too much is caught.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { LESSONS } from '../../../../tools/explorer/lessons/index.ts';
import {
  describeCondition,
  followStep,
  holds,
  type Lesson,
  LessonWalk,
  lessonsMarkdown,
  PlaygroundSession,
  parseLesson,
  ScenarioError,
} from '../../../../tools/explorer/playground/index.ts';

const FOLDER = new URL('../../../../tools/explorer/lessons/', import.meta.url);
const PARSED = LESSONS.map((value) => parseLesson(value));

/** What of a lesson does not hold. */
function broken(lesson: Lesson): string[] {
  const session = new PlaygroundSession(lesson.scenario);
  return lesson.steps.flatMap((step, index) => {
    const came = followStep(step, session);
    const wrong = step.expect.filter((condition) => !holds(condition, session)).map(describeCondition);
    return [...(came ? [] : ['never comes']), ...wrong].map((what) => `stop ${index + 1}: ${what}`);
  });
}

describe('the lessons', () => {
  it('are all that lie in their folder, under their own names', () => {
    const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
    expect(PARSED.length).toBeGreaterThanOrEqual(10);
    expect(PARSED.map(({ id }) => `${id}.json`).sort()).toEqual(files.sort());
    for (const file of files)
      expect(parseLesson(JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')))).toBeDefined();
  });

  it.each(PARSED.map((lesson) => [lesson.id, lesson] as const))('%s keeps every promise', (_, lesson) => {
    expect(broken(lesson)).toEqual([]);
  });

  it('say where to look and promise something at every stop', () => {
    const silent = PARSED.flatMap(({ id, steps }) =>
      steps.flatMap(({ text, look, expect: promises }, index) =>
        text.length > 0 && look.length > 0 && promises.length > 0 ? [] : [`${id} stop ${index + 1}`],
      ),
    );
    expect(silent).toEqual([]);
  });

  it('are the page that people read', async () => {
    await expect(lessonsMarkdown(PARSED)).toMatchFileSnapshot('../../../../docs/lessons.md');
  });

  it.each(PARSED.map((lesson) => [lesson.id, lesson] as const))(
    '%s comes to every stop by steps alone',
    (_, lesson) => {
      let walk = LessonWalk.to(lesson, 1);
      for (let stop = 2; stop <= lesson.steps.length; stop++) {
        const at = new Set<string>();
        while (walk.stop < stop) {
          const before = walk.session.position;
          walk.step();
          at.add(walk.state);
          if (walk.session.position === before) expect(walk.stop).toBe(stop);
        }
        expect([...at].every((state) => state === 'under-way' || state === 'at-stop')).toBe(true);
        const jumped = LessonWalk.to(lesson, stop);
        expect(walk.session.link()).toBe(jumped.session.link());
        expect(walk.state).toBe('at-stop');
        const promised = lesson.steps[stop - 1]?.expect ?? [];
        expect(promised.filter((one) => !holds(one, walk.session)).map(describeCondition)).toEqual([]);
        walk = jumped;
      }
    },
  );

  it('know when one has left them, gone back, or come from a link', () => {
    const lesson = PARSED.find(({ id }) => id === 'lost-packet') ?? PARSED[0];
    if (lesson === undefined) throw new Error('there is a lesson');
    const walk = LessonWalk.to(lesson, 1);
    walk.step();
    expect(walk.state).toBe('under-way');
    const linked = PlaygroundSession.fromLink(walk.session.link());
    if (!('session' in linked)) throw new Error(linked.error);
    const resumed = LessonWalk.resume(lesson, 1, linked.session);
    expect(resumed.state).toBe('under-way');
    while (resumed.stop === 1) resumed.step();
    expect(resumed.session.link()).toBe(LessonWalk.to(lesson, 2).session.link());
    resumed.session.back(2);
    expect(resumed.state).toBe('before');
    resumed.step();
    resumed.step();
    expect(resumed.state).toBe('at-stop');
    resumed.session.act('duplicate');
    expect(resumed.state).toBe('left');
    const { stop } = resumed;
    for (let step = 0; step < 100; step++) resumed.step();
    expect(resumed.stop).toBe(stop);
    expect(LessonWalk.resume(lesson, stop, resumed.session).state).toBe('left');
  });

  it('come to the same stops from a link', () => {
    for (const lesson of PARSED.slice(0, 8)) {
      const session = new PlaygroundSession(lesson.scenario);
      for (const step of lesson.steps) {
        followStep(step, session);
        const linked = PlaygroundSession.fromLink(session.link());
        expect('session' in linked && linked.session.position).toBe(session.position);
        if ('session' in linked)
          expect(step.expect.filter((one) => one.see !== 'end' && !holds(one, linked.session))).toEqual([]);
      }
    }
  });
});

describe('a lesson', () => {
  it.each([
    [{ see: 'packet', kind: 'nak' }],
    [{ see: 'packet', times: 5 }],
    [{ see: 'packet', times: 1 }],
    [{ see: 'note', kind: 'retry' }],
    [{ see: 'completion', host: 'A', status: 'success', times: 2 }],
    [{ see: 'value', of: 'A', path: 'requester.retriesLeft', is: 2 }],
    [{ see: 'value', of: 'A', path: 'constructor.name', is: 'Object' }],
    [{ see: 'memory', of: 'B', region: 'incoming', at: 0, text: 'B' }],
  ])('that promises %j where that is not so is caught', (promise) => {
    const lesson = parseLesson({ ...ONE_STEP, steps: [{ text: ['x'], until: [{ see: 'end' }], expect: [promise] }] });
    expect(broken(lesson)).toHaveLength(1);
  });

  it('that waits for what never comes ends, and is caught', () => {
    const lesson = parseLesson({ ...ONE_STEP, steps: [{ text: ['x'], until: [{ see: 'packet', kind: 'nak' }] }] });
    expect(broken(lesson)).toEqual(['stop 1: never comes']);
  });

  it.each([
    [{ steps: [] }, 'one step at least'],
    [{ title: '' }, 'title is a text'],
    [{ steps: [{ text: ['x'], expect: [{ see: 'nothing' }] }] }, 'expect[0].see is one of'],
    [{ steps: [{ text: ['x'], expect: [{ see: 'end', host: 'A' }] }] }, "'end' has no host"],
    [{ steps: [{ text: ['x'], expect: [{ see: 'note' }] }] }, "'note' needs kind"],
    [{ steps: [{ text: ['x'], expect: [{ see: 'packet', from: 'Z' }] }] }, 'from is one of'],
    [{ steps: [{ text: ['x'], until: [], steps: 1 }] }, 'either until or steps'],
    [{ scenario: { hosts: 1 } }, 'hosts is a whole number'],
  ])('with %j is refused in words', (change, words) => {
    expect(() => parseLesson({ ...ONE_STEP, ...change })).toThrow(ScenarioError);
    expect(() => parseLesson({ ...ONE_STEP, ...change })).toThrow(words);
  });
});

const ONE_STEP = {
  ...{ id: 'x', title: 'x', goal: 'x', scenario: {}, steps: [{ text: ['x'] }] },
  question: { ask: 'x', answer: 'x' },
};
