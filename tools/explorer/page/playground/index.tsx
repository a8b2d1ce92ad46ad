/**
 * The playground: the real stack in the page, packet by packet. Owns the arrangement of its parts and its keys.
 */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ACTIONS, asSent, type PacketAction } from '../../playground/index.ts';
import { isTyping } from '../view.ts';
import { ACTION_HINTS, Controls, type PlaygroundProps } from './controls.tsx';
import { Facts, Log } from './facts.tsx';
import { LessonPanel } from './lesson-panel.tsx';
import { Machines } from './machines.tsx';
import { MemoryPanel } from './memory-panel.tsx';
import { PacketPanel } from './packet-panel.tsx';
import './playground.css';
import { ScenarioPanel } from './scenario-panel.tsx';
import { SessionLadder } from './session-ladder.tsx';
import { type Play, usePlay } from './use-session.ts';

/** The view. */
export function Playground({ onAnalyze }: PlaygroundProps) {
  const play = usePlay();
  const { session, problem, exercise } = play;
  const [chosen, setChosen] = useState(0);
  const inFlight = session.peek();
  // What one has chosen may lie ahead again after a step back.
  const found = session.packet(chosen) ?? inFlight ?? session.packet(session.packetCount);
  const shown = found && exercise !== undefined ? asSent(found) : found;
  usePlayKeys(play);
  const snapshot = session.snapshot();
  return (
    <div class="playground" data-testid="playground">
      <Controls play={play} target={shown?.state === 'flying' ? shown : inFlight} {...(onAnalyze && { onAnalyze })} />
      {problem === '' ? null : (
        <div class="banner" role="alert" data-testid="play-problem">
          {problem}
        </div>
      )}
      <div class="play-columns">
        <section class="play-side" aria-label="Lesson and scenario">
          <LessonPanel play={play} />
          {exercise === undefined ? (
            <>
              <Log session={session} />
              <ScenarioPanel play={play} />
            </>
          ) : null}
        </section>
        <section class="play-middle" aria-label="Packets">
          <SessionLadder
            session={session}
            hosts={snapshot.hosts.map(({ name, address }) => ({ name, address }))}
            chosen={shown?.serial ?? 0}
            now={snapshot.timeNs}
            asSent={exercise !== undefined}
            onChoose={setChosen}
          />
          <PacketPanel session={session} packet={shown} asSent={exercise !== undefined} />
        </section>
        <section class="play-state" aria-label="Hosts">
          <Machines snapshot={snapshot} />
          <Facts snapshot={snapshot} />
          <MemoryPanel snapshot={snapshot} />
        </section>
      </div>
    </div>
  );
}

/** Keys of the playground; those of the page are others. */
function usePlayKeys(play: Play): void {
  const latest = useRef(play);
  latest.current = play;
  // Before the browser paints: a key that is pressed at once counts.
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      // A button that has the focus keeps its own space bar.
      if (event.key === ' ' && event.target instanceof HTMLButtonElement) return;
      if (!take(latest.current, event.key)) return;
      event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}

function take({ act, step, run, course, goToStop }: Play, key: string): boolean {
  const action = ACTION_KEYS.get(key);
  if (action !== undefined) act((session) => session.act(action));
  else if (key === 's' || key === ' ') step();
  else if (key === 'b') act((session) => session.back());
  else if (key === 'r') run();
  else if (key === '0') act((session) => session.goTo(0));
  else if (key === 'n' && course !== undefined) goToStop(course.stop + 1);
  else if (key === 'p' && course !== undefined) goToStop(course.stop - 1);
  else return false;
  return true;
}

const ACTION_KEYS: ReadonlyMap<string, PacketAction> = new Map(ACTIONS.map((action) => [ACTION_HINTS[action], action]));
