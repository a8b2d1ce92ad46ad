/**
 * A lesson that is being taken, in a session: from stop to stop at once, or step by step with the lesson's own acts on
 * the way. Owns where the session is on the way, and when it has left it.
 */
import { holds } from './conditions.ts';
import { followStep, type Lesson, type LessonStep } from './lesson.ts';
import { encodeLink } from './link.ts';
import type { PlaygroundScenario } from './scenario.ts';
import { PlaygroundSession } from './session.ts';

/** Where a session is: at the stop, behind it on the way to the next, before it, or on a way of its own. */
export type WalkState = 'at-stop' | 'under-way' | 'before' | 'left';

/** A lesson with the session in which it is taken. */
export class LessonWalk {
  readonly lesson: Lesson;
  readonly session: PlaygroundSession;
  /** Stops taken; 1 is the first. */
  stop: number;
  /** Steps that the session has taken at this stop. */
  #position: number;
  /**
   * What the session has been told to do on the way: the same object as long as nobody has done anything else by hand.
   * Undefined for a session that came from elsewhere.
   */
  #scenario: PlaygroundScenario | undefined;

  private constructor(lesson: Lesson, stop: number, session: PlaygroundSession, position: number) {
    this.lesson = lesson;
    this.stop = stop;
    this.session = session;
    this.#position = position;
    this.#scenario = session.scenario;
  }

  /** The lesson from its beginning to a stop, the first or the last where there is no such one. */
  static to(lesson: Lesson, stop: number): LessonWalk {
    const stops = Math.max(1, Math.min(stop, lesson.steps.length));
    const session = new PlaygroundSession(lesson.scenario);
    for (const step of lesson.steps.slice(0, stops)) followStep(step, session);
    return new LessonWalk(lesson, stops, session, session.position);
  }

  /** A session from a link, which may be on the way from this stop to the next, or anywhere. */
  static resume(lesson: Lesson, stop: number, session: PlaygroundSession): LessonWalk {
    const walk = LessonWalk.to(lesson, stop);
    const resumed = new LessonWalk(lesson, walk.stop, session, walk.#position);
    const wanted = textOf(session);
    const same = textOf(walk.session) === wanted;
    const { act } = walk.#next ?? {};
    if (!same && !(act !== undefined && walk.session.act(act) && textOf(walk.session) === wanted))
      resumed.#scenario = undefined;
    return resumed;
  }

  /** Where the session is. */
  get state(): WalkState {
    const { session } = this;
    if (session.scenario !== this.#scenario) return 'left';
    if (session.position === this.#position) return 'at-stop';
    return session.position < this.#position ? 'before' : 'under-way';
  }

  /** One step of the session: on the way with what the lesson does at this place, off it without. */
  step(): void {
    const { session } = this;
    const next = this.#next;
    const { state } = this;
    if (next === undefined || state === 'left' || state === 'before') {
      session.step();
      return;
    }
    if (state === 'at-stop' && next.act !== undefined) {
      session.act(next.act);
      this.#scenario = session.scenario;
    }
    if (!this.#hasCome(next)) session.step();
    if (!this.#hasCome(next)) return;
    this.stop++;
    this.#position = session.position;
  }

  get #next(): LessonStep | undefined {
    return this.lesson.steps[this.stop];
  }

  /** As `followStep` goes on to it. */
  #hasCome({ steps, until }: LessonStep): boolean {
    if (steps !== undefined) return this.session.position - this.#position >= steps;
    return until === undefined || until.every((condition) => holds(condition, this.session));
  }
}

/** What a session was told to do, to be compared: as a link to its beginning. */
function textOf({ scenario }: PlaygroundSession): string {
  return encodeLink({ scenario, position: 0 });
}
