/**
 * The buttons of the playground: forwards, back, actions on the packet under way, and ways to export the session.
 */
import { useState } from 'preact/hooks';
import {
  ACTIONS,
  hostName,
  microseconds,
  type PacketAction,
  type PacketSummary,
  type Vantage,
} from '../../playground/index.ts';
import { copyText, saveFile } from '../save.ts';
import { leading } from './lesson-panel.tsx';
import type { Play } from './use-session.ts';

/** What the page gives the playground. */
export interface PlaygroundProps {
  /** Opens the session's packets as a capture in the other views; absent: no such button. */
  readonly onAnalyze?: (source: { readonly name: string; readonly content: Blob }) => void;
}

interface ControlsProps extends PlaygroundProps {
  readonly play: Play;
  /** The packet that the actions apply to. */
  readonly target: PacketSummary | undefined;
}

/** All of them. */
export function Controls({ play, target, onAnalyze }: ControlsProps) {
  const { session, course, running, act, step, run } = play;
  return (
    <div class="toolbar play-controls" role="toolbar" aria-label="Controls">
      <span class="buttons">
        <Button name="Back" hint="b" disabled={session.position === 0} onClick={() => act((one) => one.back())} />
        <Button name="Step" hint="s" strong={leading(course) === 'step'} disabled={session.over} onClick={step} />
        <Button name={running ? 'Stop' : 'Run'} hint="r" disabled={session.over && !running} onClick={run} />
        <Button name="Restart" hint="0" disabled={session.position === 0} onClick={() => act((one) => one.goTo(0))} />
      </span>
      <span class="buttons">
        {ACTIONS.map((action) => (
          <Button
            key={action}
            name={ACTION_NAMES[action]}
            hint={ACTION_HINTS[action]}
            disabled={target === undefined || target.fate.includes(action)}
            onClick={() => act((one) => one.act(action, target?.serial))}
          />
        ))}
      </span>
      <span class="quiet play-where" data-testid="where">
        Step {session.position} at {microseconds(session.now)}
        {session.over ? `, ${END_WORDS[session.snapshot().end]}` : ''}
      </span>
      <Elsewhere play={play} {...(onAnalyze && { onAnalyze })} />
    </div>
  );
}

/** Link, file, and the other views. */
function Elsewhere({ play: { session }, onAnalyze }: { readonly play: Play } & PlaygroundProps) {
  const [copied, setCopied] = useState('');
  const [vantage, setVantage] = useState<Vantage>('wire');
  return (
    <span class="buttons">
      <button
        type="button"
        title="A link that leads exactly here"
        onClick={async () => setCopied((await copyText(location.href)) ? 'Copied' : 'See the address')}
        onBlur={() => setCopied('')}
      >
        {copied === '' ? 'Copy link' : copied}
      </button>
      <select
        aria-label="Seen from"
        title="Where the capture is made: every packet as it was sent, or what one host sends and receives"
        value={`${vantage}`}
        onChange={(event) =>
          setVantage(event.currentTarget.value === 'wire' ? 'wire' : Number(event.currentTarget.value))
        }
      >
        <option value="wire">as sent</option>
        {Array.from({ length: session.scenario.hosts }, (_, host) => (
          <option key={host} value={`${host}`}>
            seen by {hostName(host)}
          </option>
        ))}
      </select>
      <button
        type="button"
        data-testid="export"
        onClick={() => saveFile(new Blob([bufferOf(session.pcapng(vantage))]), 'playground.pcapng')}
      >
        Save pcapng
      </button>
      {onAnalyze === undefined ? null : (
        <button
          type="button"
          data-testid="analyze"
          onClick={() =>
            onAnalyze({ name: 'playground.pcapng', content: new Blob([bufferOf(session.pcapng(vantage))]) })
          }
        >
          Analyze
        </button>
      )}
    </span>
  );
}

interface ButtonProps {
  readonly name: string;
  /** Its key. */
  readonly hint: string;
  readonly strong?: boolean;
  readonly disabled: boolean;
  readonly onClick: () => void;
}

function Button({ name, hint, strong, disabled, onClick }: ButtonProps) {
  return (
    <button
      type="button"
      class={strong === true ? 'strong' : ''}
      disabled={disabled}
      title={`Key ${hint}`}
      aria-keyshortcuts={hint}
      onClick={onClick}
    >
      {name} <kbd>{hint}</kbd>
    </button>
  );
}

/** The actions taken by hand, in order, each of which can be taken back. */
export function Interventions({ play: { session, act } }: { readonly play: Play }) {
  const { interventions } = session.scenario;
  if (interventions.length === 0) return <p class="quiet">The network does nothing to any packet by hand.</p>;
  return (
    <ul class="interventions">
      {interventions.map(({ host, packet, action }, index) => (
        <li key={index}>
          {ACTION_NAMES[action]}: packet {packet} of {hostName(host)}{' '}
          <button type="button" class="link" onClick={() => act((one) => one.undo(index))}>
            take back
          </button>
        </li>
      ))}
    </ul>
  );
}

function bufferOf(bytes: Uint8Array): ArrayBuffer {
  const copied = new ArrayBuffer(bytes.length);
  new Uint8Array(copied).set(bytes);
  return copied;
}

const ACTION_NAMES: Readonly<Record<PacketAction, string>> = {
  drop: 'Drop',
  corrupt: 'Corrupt',
  duplicate: 'Duplicate',
  delay: 'Delay',
  mark: 'Mark CE',
};
/** The keys of the actions. */
export const ACTION_HINTS: Readonly<Record<PacketAction, string>> = {
  drop: 'd',
  corrupt: 'c',
  duplicate: 'u',
  delay: 'l',
  mark: 'm',
};
const END_WORDS = {
  '': '',
  silent: 'nothing more happens',
  'too many steps': 'that were enough steps',
  'too much time': 'that was time enough',
} as const;
