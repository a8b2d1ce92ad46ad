/**
 * Guided lessons: a scenario, and step by step what to read, what to look at and what will then be true. Data from JSON
 * files; owns their shape and how a lesson is followed. A test follows every lesson and checks all its promises.
 */
import { type Condition, holds, parseCondition } from './conditions.ts';
import { CheckedFields, oneOf, ScenarioError, whole } from './fields.ts';
import { parseScenario } from './parse-scenario.ts';
import { ACTIONS, type PacketAction, type PlaygroundScenario } from './scenario.ts';
import type { PlaygroundSession } from './session.ts';

/** Parts of the page a lesson can point to. */
export const PANELS = ['ladder', 'machines', 'queues', 'memory', 'packet', 'completions', 'counters', 'rate'] as const;
/** One of them. */
export type Panel = (typeof PANELS)[number];

/** What the learner says will happen on the way to the next stop, before the stack shows it. */
export interface Prediction {
  readonly ask: string;
  /** Two or more; one is right. */
  readonly choices: readonly string[];
  /** Index of the right one. */
  readonly right: number;
  /** Why, for those who were wrong and those who guessed. */
  readonly because: string;
}

/** One stop of a lesson. */
export interface LessonStep {
  /** Paragraphs, plain text. What has been said when the session has come to this stop. */
  readonly text: readonly string[];
  /** Where to look, and for what. */
  readonly look: readonly { readonly panel: Panel; readonly at: string }[];
  /** Done by hand to the packet under way, before going on. */
  readonly act?: PacketAction;
  /** The session goes on until all of this holds; or so many steps; absent: it stays where it is. */
  readonly until?: readonly Condition[];
  readonly steps?: number;
  /** What is true at this stop. */
  readonly expect: readonly Condition[];
  /** Asked here, answered at the next stop. */
  readonly predict?: Prediction;
}

/** A lesson. */
export interface Lesson {
  /** Kebab case; the name of its file. */
  readonly id: string;
  readonly title: string;
  /** What the reader knows afterwards, one sentence. */
  readonly goal: string;
  readonly scenario: PlaygroundScenario;
  readonly steps: readonly LessonStep[];
  readonly question: { readonly ask: string; readonly answer: string };
}

/** A lesson from any value. @throws ScenarioError that names the place */
export function parseLesson(value: unknown): Lesson {
  const fields = new CheckedFields(value, 'lesson', ['id', 'title', 'goal', 'scenario', 'steps', 'question']);
  const question = new CheckedFields(fields.get('question'), 'question', ['ask', 'answer']);
  const steps = fields.list('steps', MOST_STEPS, [], parseStep);
  if (steps.length === 0) throw new ScenarioError('lesson.steps has one step at least');
  if (steps.at(-1)?.predict !== undefined)
    throw new ScenarioError('lesson.steps: after the last stop nothing is shown');
  return {
    id: textOf(fields.get('id'), 'id'),
    title: textOf(fields.get('title'), 'title'),
    goal: textOf(fields.get('goal'), 'goal'),
    scenario: parseScenario(fields.get('scenario')),
    steps,
    question: {
      ask: textOf(question.get('ask'), 'question.ask'),
      answer: textOf(question.get('answer'), 'question.answer'),
    },
  };
}

/** Takes a session, which has come to the stop before, to this one. False when what the stop waits for never comes. */
export function followStep(step: LessonStep, session: PlaygroundSession): boolean {
  if (step.act !== undefined && !session.act(step.act)) return false;
  if (step.steps !== undefined) return session.run(step.steps) === step.steps;
  const { until } = step;
  return until === undefined || session.runUntil(() => until.every((condition) => holds(condition, session)));
}

function parseStep(value: unknown, path: string): LessonStep {
  const fields = new CheckedFields(value, path, ['text', 'look', 'act', 'until', 'steps', 'expect', 'predict']);
  const conditions = (name: string) => fields.list(name, MOST_CONDITIONS, [], parseCondition);
  if (fields.has('until') && fields.has('steps')) throw new ScenarioError(`${path} has either until or steps`);
  return {
    text: fields.list('text', MOST_PARAGRAPHS, [], textOf),
    look: fields.list('look', PANELS.length, [], parseLook),
    ...fields.optional('act', (item, at) => oneOf(item, at, ACTIONS)),
    ...(fields.has('until') ? { until: conditions('until') } : {}),
    ...fields.optional('steps', (item, at) => whole(item, at, 1, 10_000)),
    expect: conditions('expect'),
    ...fields.optional('predict', parsePrediction),
  };
}

function parsePrediction(value: unknown, path: string): Prediction {
  const fields = new CheckedFields(value, path, ['ask', 'choices', 'right', 'because']);
  const choices = fields.list('choices', MOST_CHOICES, [], textOf);
  if (choices.length < 2) throw new ScenarioError(`${path}.choices has two entries at least`);
  return {
    ask: textOf(fields.get('ask'), `${path}.ask`),
    choices,
    right: fields.whole('right', 0, choices.length - 1),
    because: textOf(fields.get('because'), `${path}.because`),
  };
}

function parseLook(value: unknown, path: string): LessonStep['look'][number] {
  const fields = new CheckedFields(value, path, ['panel', 'at']);
  return { panel: fields.oneOf('panel', PANELS), at: textOf(fields.get('at'), `${path}.at`) };
}

function textOf(value: unknown, path: string): string {
  if (typeof value === 'string' && value !== '' && value.length <= MOST_CHARACTERS) return value;
  throw new ScenarioError(`${path} is a text`);
}

const MOST_STEPS = 20;
const MOST_CONDITIONS = 20;
const MOST_PARAGRAPHS = 10;
const MOST_CHOICES = 5;
const MOST_CHARACTERS = 2_000;
