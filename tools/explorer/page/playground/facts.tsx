/** The last steps in words, completions, counters, and queues of the switch. */
import type { HostSnapshot, PlaygroundSession, Snapshot } from '../../playground/index.ts';
import { hostName, microseconds } from '../../playground/index.ts';

/** The newest steps, newest first. */
export function Log({ session }: { readonly session: PlaygroundSession }) {
  return (
    <div class="card log-card" data-testid="log">
      <h3>What happens</h3>
      <ol class="log" reversed start={session.position}>
        {session.steps
          .slice(-MOST_STEPS)
          .reverse()
          .map((step) => (
            <li key={step.number} class={step.number === session.position ? 'newest' : ''}>
              <span class="quiet">{microseconds(step.timeNs)}</span> {headline(session, step)}
              {step.notes.map((note) => (
                <p key={note.text} class={`note note-${note.kind}`}>
                  {note.text}
                </p>
              ))}
            </li>
          ))}
      </ol>
    </div>
  );
}

/** Completions, counters and queues of the switch. */
export function Facts({ snapshot }: { readonly snapshot: Snapshot }) {
  return (
    <div class="card">
      <h3>Completions</h3>
      <Completions hosts={snapshot.hosts} />
      <h3>Counters</h3>
      {snapshot.hosts.map((host) => (
        <p key={host.name} data-testid={`counters-${host.name}`}>
          <b>{host.name}</b>{' '}
          {Object.entries(host.counters)
            .map(([name, value]) => `${name} ${value}`)
            .join(', ') || 'all 0'}
          {host.queuedBytes > 0 ? `; ${host.queuedBytes} bytes wait in the switch for ${host.name}` : ''}
          {host.paused ? `; paused by its switch` : ''}
          {host.switchPaused ? `; its switch is paused by the next one` : ''}
        </p>
      ))}
    </div>
  );
}

function Completions({ hosts }: { readonly hosts: readonly HostSnapshot[] }) {
  const all = hosts.flatMap(({ completions }) => completions).sort((a, b) => a.timeNs - b.timeNs);
  if (all.length === 0) return <p class="quiet">Nothing has completed yet.</p>;
  return (
    <ul class="completions-list" data-testid="completions">
      {all.slice(-MOST_COMPLETIONS).map(({ host, wrId, status, statusName, byteLen, timeNs }, index) => (
        <li key={`${host} ${wrId} ${index}`} class={status === 0 ? 'good' : 'bad'}>
          {hostName(host)} #{wrId}: {statusName}
          {byteLen > 0 ? `, ${byteLen} bytes` : ''} <span class="quiet">{microseconds(timeNs)}</span>
        </li>
      ))}
    </ul>
  );
}

function headline(session: PlaygroundSession, { kind, host, serial }: PlaygroundSession['steps'][number]): string {
  const packet = serial === 0 ? undefined : session.packet(serial);
  const what = packet === undefined ? '' : `${packet.name}${packet.psn < 0 ? '' : ` psn ${packet.psn}`}`;
  switch (kind) {
    case 'sent':
      return `${hostName(host)} sends ${what}`;
    case 'delivered':
      return `${what} arrives at ${hostName(host)}`;
    case 'lost':
      return `${what} is lost: ${packet?.lossReason ?? ''}`;
    case 'delayed':
      return `${what} is held back`;
    case 'posted':
      return '';
    default:
      return 'A timer:';
  }
}

const MOST_STEPS = 12;
const MOST_COMPLETIONS = 12;
