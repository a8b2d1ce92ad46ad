/**
 * The session that is being played, as state of the page: what buttons do to it, and the address that leads back to it.
 * Owns the hash fields `play`, `lesson`, `stop`, `predicted`, `exercise` and `answer`, and the running of many steps
 * without stopping the page. What goes wrong is one sentence.
 */
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { LESSONS } from '../../lessons/index.ts';
import {
  DEFAULT_SCENARIO,
  type Exercise,
  exerciseOf,
  isLink,
  type Lesson,
  LessonWalk,
  type PlaygroundScenario,
  PlaygroundSession,
  parseLesson,
} from '../../playground/index.ts';

/** What the playground's parts are given. */
export interface Play {
  readonly session: PlaygroundSession;
  /** Another one whenever something has changed. */
  readonly version: number;
  readonly course: LessonWalk | undefined;
  /** A sentence; empty when all is well. */
  readonly problem: string;
  /** Steps are being taken. */
  readonly running: boolean;
  /** Does something to the session. */
  readonly act: (what: (session: PlaygroundSession) => void) => void;
  /** One step: in a lesson along its way, as long as one has not left it. */
  readonly step: () => void;
  /** Takes steps until nothing happens any more, or stops doing so. */
  readonly run: () => void;
  /** Begins another session. */
  readonly begin: (scenario: PlaygroundScenario) => void;
  /** Begins a lesson, or leaves it. */
  readonly learn: (lesson: Lesson | undefined) => void;
  /** Goes to a stop of the lesson. */
  readonly goToStop: (stop: number) => void;
  /** What was said at the stops of the lesson about what comes: the index of a choice, by stop. */
  readonly predicted: ReadonlyMap<number, number>;
  readonly predict: (stop: number, choice: number) => void;
  readonly exercise: Exercise | undefined;
  /** The choice of the exercise that was taken for the right one. */
  readonly answer: number | undefined;
  /** Begins an exercise, at its end. */
  readonly train: (seed: number) => void;
  readonly answerExercise: (choice: number) => void;
}

/** All lessons, in order. */
export const ALL_LESSONS: readonly Lesson[] = LESSONS.map((value) => parseLesson(value));

interface State {
  session: PlaygroundSession;
  course: LessonWalk | undefined;
  problem: string;
  predicted: ReadonlyMap<number, number>;
  exercise: Exercise | undefined;
  answer: number | undefined;
}

/** The session in the address, or the first of all. */
export function usePlay(): Play {
  const state = useRef<State>(undefined);
  state.current ??= fromAddress(location.hash);
  const current = state.current;
  const [version, setVersion] = useState(0);
  const [running, setRunning] = useState(false);
  const show = useCallback(() => {
    writeAddress(current);
    setVersion((before) => before + 1);
  }, [current]);
  const act = useCallback(
    (what: (session: PlaygroundSession) => void) => {
      current.problem = attempt(() => what(current.session));
      show();
    },
    [current, show],
  );
  useFrames(running, () => {
    const problem = attempt(() => current.session.run(STEPS_AT_A_TIME));
    const over = problem !== '' || current.session.over;
    if (problem !== '') current.problem = problem;
    if (over) setRunning(false);
    if (over) show();
    else setVersion((before) => before + 1);
  });
  useAddress((hash) => {
    if (hashOf(current) === playOf(hash)) return;
    Object.assign(current, fromAddress(hash));
    setRunning(false);
    setVersion((before) => before + 1);
  });
  const choices = useChoices(current, act, show);
  return {
    ...{
      session: current.session,
      course: current.course,
      problem: current.problem,
      version,
      running,
      act,
      predicted: current.predicted,
      exercise: current.exercise,
      answer: current.answer,
      ...choices,
    },
    step: () => act((session) => (current.course === undefined ? session.step() : current.course.step())),
    run: () => {
      if (running) show();
      setRunning(!running);
    },
  };
}

type Choice = 'begin' | 'learn' | 'goToStop' | 'predict' | 'train' | 'answerExercise';

/** What begins something else. */
function useChoices(current: State, act: Play['act'], show: () => void): Pick<Play, Choice> {
  return useMemo(
    () => ({
      begin: (scenario: PlaygroundScenario) => {
        Object.assign(current, NOTHING_TAUGHT);
        act(() => {
          current.session = new PlaygroundSession(scenario);
        });
      },
      learn: (lesson: Lesson | undefined) => {
        Object.assign(current, NOTHING_TAUGHT, { problem: '' });
        if (lesson !== undefined) toStop(current, lesson, 1);
        show();
      },
      goToStop: (stop: number) => {
        if (current.course !== undefined) toStop(current, current.course.lesson, stop);
        show();
      },
      train: (seed: number) => {
        const exercise = exerciseOf(seed % 2 ** 32);
        Object.assign(current, NOTHING_TAUGHT, { exercise });
        act(() => {
          current.session = new PlaygroundSession(exercise.scenario);
          current.session.run();
        });
      },
      answerExercise: (choice: number) => {
        current.answer = choice;
        show();
      },
      predict: (stop: number, choice: number) => {
        current.predicted = new Map([...current.predicted, [stop, choice]]);
        show();
      },
    }),
    [current, act, show],
  );
}

/** Follows a lesson from its beginning, whatever was changed in between. */
function toStop(current: State, lesson: Lesson, stop: number): void {
  current.problem = attempt(() => {
    current.course = LessonWalk.to(lesson, stop);
    current.session = current.course.session;
  });
}

function fromAddress(hash: string): State {
  const query = new URLSearchParams(hash.replace(/^#/, ''));
  const lesson = ALL_LESSONS.find(({ id }) => id === query.get('lesson'));
  const stop = Number(query.get('stop') ?? '0') || 0;
  const predicted = predictedOf(query.get('predicted') ?? '');
  const exercise = lesson === undefined ? exerciseIn(query) : undefined;
  const answer = exercise && numberIn(query, 'answer');
  const taught = { predicted, exercise, answer };
  const fresh = (problem: string): State => {
    const scenario = lesson?.scenario ?? exercise?.scenario ?? DEFAULT_SCENARIO;
    const state: State = { session: new PlaygroundSession(scenario), course: undefined, problem, ...taught };
    if (exercise !== undefined) state.session.run();
    if (lesson !== undefined) toStop(state, lesson, problem === '' ? stop : 1);
    return problem === '' ? state : { ...state, problem };
  };
  if (!isLink(hash)) return fresh('');
  try {
    const linked = PlaygroundSession.fromLink(hash);
    if ('error' in linked) return fresh(`This link cannot be followed: ${linked.error}.`);
    const { session } = linked;
    return { session, course: lesson && LessonWalk.resume(lesson, stop, session), problem: '', ...taught };
  } catch (error) {
    return fresh(`This link cannot be followed: ${sentenceOf(error)}`);
  }
}

function writeAddress(current: State): void {
  const query = new URLSearchParams(location.hash.replace(/^#/, ''));
  for (const name of OWN_FIELDS) query.delete(name);
  query.set('view', 'playground');
  const own = new URLSearchParams(hashOf(current));
  for (const [name, value] of own) query.set(name, value);
  history.replaceState(null, '', `#${query}`);
}

/** Our fields of the address of a state. */
function hashOf({ session, course, predicted, exercise, answer }: State): string {
  const query = new URLSearchParams(playOf(session.link()));
  if (exercise !== undefined) query.set('exercise', `${exercise.seed}`);
  if (answer !== undefined) query.set('answer', `${answer}`);
  if (course !== undefined) {
    query.set('lesson', course.lesson.id);
    query.set('stop', `${course.stop}`);
    if (predicted.size > 0) query.set('predicted', [...predicted].map(([at, choice]) => `${at}.${choice}`).join('-'));
  }
  return query.toString();
}

function exerciseIn(query: URLSearchParams): Exercise | undefined {
  const seed = numberIn(query, 'exercise');
  return seed !== undefined && seed < 2 ** 32 ? exerciseOf(seed) : undefined;
}

function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? '';
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

/** Pairs such as `2.0-4.1`; what is none is passed over. */
function predictedOf(text: string): ReadonlyMap<number, number> {
  const pairs = text.split('-').map((pair) => /^(\d{1,2})\.(\d)$/.exec(pair));
  return new Map(pairs.flatMap((pair) => (pair === null ? [] : [[Number(pair[1]), Number(pair[2])]])));
}

function playOf(hash: string): string {
  const query = new URLSearchParams(hash.replace(/^#/, ''));
  const own = new URLSearchParams();
  for (const name of OWN_FIELDS) if (query.has(name)) own.set(name, query.get(name) ?? '');
  return own.toString();
}

/** Calls `take` when the address changes to one with our fields. */
function useAddress(take: (hash: string) => void): void {
  const taker = useRef(take);
  taker.current = take;
  useLayoutEffect(() => {
    const follow = (): void => {
      if (playOf(location.hash) !== '') taker.current(location.hash);
    };
    addEventListener('hashchange', follow);
    addEventListener('popstate', follow);
    return () => {
      removeEventListener('hashchange', follow);
      removeEventListener('popstate', follow);
    };
  }, []);
}

/** Calls `frame` before every repaint while `on`. */
function useFrames(on: boolean, frame: () => void): void {
  const latest = useRef(frame);
  latest.current = frame;
  useEffect(() => {
    if (!on) return undefined;
    let handle = requestAnimationFrame(function next() {
      latest.current();
      handle = requestAnimationFrame(next);
    });
    return () => cancelAnimationFrame(handle);
  }, [on]);
}

function attempt(what: () => void): string {
  try {
    what();
    return '';
  } catch (error) {
    return sentenceOf(error);
  }
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const OWN_FIELDS = ['play', 'lesson', 'stop', 'predicted', 'exercise', 'answer'];
/** Neither a lesson nor an exercise. */
const NOTHING_TAUGHT = {
  ...{ course: undefined, predicted: new Map<number, number>(), exercise: undefined, answer: undefined },
};
const STEPS_AT_A_TIME = 250;
