/**
 * The lesson that is being taken: its text, where to look, what is true now, and the question at its end. Owns the
 * choosing of one.
 */
import { useState } from 'preact/hooks';
import { holds, type LessonStep, type LessonWalk, type Panel, type WalkState } from '../../playground/index.ts';
import { ExercisePanel } from './exercise-panel.tsx';
import { Answered, Asked } from './prediction.tsx';
import { ALL_LESSONS, type Play } from './use-session.ts';

/** The chooser and, when one was chosen, the lesson. */
export function LessonPanel({ play }: { readonly play: Play }) {
  const { course, exercise, learn, train } = play;
  return (
    <div class="card" data-testid="lesson">
      <label class="row-label">
        <span>Lesson</span>
        <select
          value={exercise === undefined ? (course?.lesson.id ?? '') : EXERCISE}
          data-testid="lesson-choice"
          onChange={({ currentTarget: { value } }) =>
            value === EXERCISE ? train(1) : learn(ALL_LESSONS.find(({ id }) => id === value))
          }
        >
          <option value="">none: play freely</option>
          {ALL_LESSONS.map(({ id, title }, index) => (
            <option key={id} value={id}>
              {index + 1}. {title}
            </option>
          ))}
          <option value={EXERCISE}>Exercises: find the fault</option>
        </select>
      </label>
      {exercise === undefined ? null : <ExercisePanel play={play} exercise={exercise} />}
      {course === undefined ? (
        <p class="quiet" hidden={exercise !== undefined}>
          Choose a lesson, or play: step, and do something to the packet that is under way.
        </p>
      ) : (
        <Lesson key={course.lesson.id} play={play} course={course} />
      )}
    </div>
  );
}

function Lesson({ play, course }: { readonly play: Play; readonly course: LessonWalk }) {
  const { lesson, stop } = course;
  const step = lesson.steps[stop - 1];
  const last = stop === lesson.steps.length;
  return (
    <>
      <h2>{lesson.title}</h2>
      <p class="quiet">{lesson.goal}</p>
      {step === undefined ? null : <Stop play={play} step={step} course={course} />}
      <div class="buttons">
        <button type="button" disabled={stop <= 1} onClick={() => play.goToStop(stop - 1)}>
          Previous <kbd>p</kbd>
        </button>
        <button
          type="button"
          class={leading(course) === 'next' ? 'strong' : ''}
          disabled={last}
          data-testid="next-stop"
          onClick={() => play.goToStop(stop + 1)}
        >
          Next <kbd>n</kbd>
        </button>
      </div>
      {last && leading(course) === 'answer' ? <Question {...lesson.question} /> : null}
    </>
  );
}

/**
 * The one button that leads on, the only one that looks like it: Step without a lesson and where that leads to the stop
 * again, Next in a lesson, and at its last stop the answer.
 */
export function leading(course: LessonWalk | undefined): 'step' | 'next' | 'answer' {
  if (course === undefined || course.state === 'before') return 'step';
  return course.stop === course.lesson.steps.length ? 'answer' : 'next';
}

interface StopProps {
  readonly play: Play;
  readonly step: LessonStep;
  readonly course: LessonWalk;
}

function Stop({ play: { session, predicted, predict }, step, course: { lesson, stop, state } }: StopProps) {
  const shown = lesson.steps[stop - 2]?.predict;
  const kept = step.expect.every((condition) => holds(condition, session));
  const where = PLACES[state === 'at-stop' && !kept ? 'left' : state];
  return (
    <div class="stop" data-testid="stop" data-kept={kept}>
      <p class="quiet">
        Stop {stop} of {lesson.steps.length}
        {step.act === undefined ? '' : `: the packet was ${DONE[step.act]}`}
      </p>
      {shown === undefined ? null : <Answered prediction={shown} said={predicted.get(stop - 1)} />}
      {step.text.map((text) => (
        <p key={text}>{text}</p>
      ))}
      <ul class="look">
        {step.look.map(({ panel, at }) => (
          <li key={panel}>
            <b>{PANEL_NAMES[panel]}</b> {at}
          </li>
        ))}
      </ul>
      {step.predict === undefined ? null : (
        <Asked prediction={step.predict} said={predicted.get(stop)} onSay={(choice) => predict(stop, choice)} />
      )}
      {where === '' ? null : (
        <p class={state === 'under-way' ? 'quiet' : 'odd'} data-testid="way">
          {where}
        </p>
      )}
    </div>
  );
}

function Question({ ask, answer }: { readonly ask: string; readonly answer: string }) {
  const [open, setOpen] = useState(false);
  return (
    <div class="question">
      <p>
        <b>Question.</b> {ask}
      </p>
      {open ? (
        <p data-testid="answer">{answer}</p>
      ) : (
        <button type="button" class="strong" onClick={() => setOpen(true)}>
          Show the answer
        </button>
      )}
    </div>
  );
}

/** Among the lessons' names; none of them has a space. */
const EXERCISE = 'an exercise';
/** What is said where a session is not at the stop whose text stands there. */
const PLACES: Readonly<Record<WalkState, string>> = {
  'at-stop': '',
  'under-way': 'On the way to the next stop.',
  before: 'You have gone back: Step leads to this stop again.',
  left: 'You have gone another way: Next and Previous lead back to the lesson.',
};
const DONE = {
  drop: 'dropped',
  corrupt: 'damaged',
  duplicate: 'doubled',
  delay: 'held back',
  mark: 'marked',
} as const;
const PANEL_NAMES: Readonly<Record<Panel, string>> = {
  ladder: 'Ladder:',
  machines: 'Machines:',
  queues: 'Queues:',
  memory: 'Memory:',
  packet: 'Packet:',
  completions: 'Completions:',
  counters: 'Counters:',
  rate: 'Rate:',
};
