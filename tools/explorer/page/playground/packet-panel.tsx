/** The packet that was chosen, decoded: its line, its fields by the names of tshark, its bytes. Owns the grouping. */
import { useState } from 'preact/hooks';
import { hostName, microseconds, type PacketSummary, type PlaygroundSession } from '../../playground/index.ts';

interface PacketProps {
  readonly session: PlaygroundSession;
  readonly packet: PacketSummary | undefined;
  /** Without what became of it on the way. */
  readonly asSent: boolean;
}

/** The panel. */
export function PacketPanel({ session, packet, asSent }: PacketProps) {
  const [arrived, setArrived] = useState(false);
  if (packet === undefined) return <div class="card quiet">No packet yet.</div>;
  const details = session.details(packet.serial, arrived ? 'arrived' : 'sent');
  if (details === undefined) return null;
  const changed = packet.marked || packet.fate.includes('corrupt');
  return (
    <div class="card play-packet" data-testid="play-packet">
      <h3>
        Packet {packet.packet} of {hostName(packet.from)}
        {packet.copyOf > 0 ? ', a copy' : ''} <span class="quiet">{asSent ? '' : whereIs(packet)}</span>
      </h3>
      {changed ? (
        <label>
          <input type="checkbox" checked={arrived} onChange={(event) => setArrived(event.currentTarget.checked)} /> as
          it arrived
        </label>
      ) : null}
      <p class="mono" data-testid="packet-line">
        {details.line}
      </p>
      <p>{details.icrcOk ? 'The ICRC is right.' : <b class="bad">The ICRC is wrong.</b>}</p>
      <div class="field-groups">
        {groupsOf(Object.entries(details.fields)).map(([group, fields]) => (
          <details key={group} open={group === 'infiniband'}>
            <summary>{GROUP_NAMES.get(group) ?? group}</summary>
            <dl>
              {fields.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name}=`}>{String(value)}</dd>])}
            </dl>
          </details>
        ))}
      </div>
      <details>
        <summary>{details.bytes.length} bytes</summary>
        <pre class="hex">{hexOf(details.bytes)}</pre>
      </details>
    </div>
  );
}

function whereIs({ state, sentNs, arrivesNs, lossReason, to }: PacketSummary): string {
  if (state === 'delivered') return `arrived at ${hostName(to)} after ${microseconds(arrivesNs - sentNs)}`;
  if (state === 'lost') return `lost: ${lossReason}`;
  return arrivesNs === Infinity ? 'on its way to the switch' : `arrives at ${microseconds(arrivesNs)}`;
}

/** By the word before the first dot. */
function groupsOf<V>(fields: readonly (readonly [string, V])[]): [string, (readonly [string, V])[]][] {
  const groups = new Map<string, (readonly [string, V])[]>();
  for (const field of fields) {
    const group = field[0].split('.')[0] ?? '';
    groups.set(group, [...(groups.get(group) ?? []), field]);
  }
  return [...groups];
}

function hexOf(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, MOST_BYTES); at += 16) {
    const part = Array.from(bytes.subarray(at, at + 16), (byte) => byte.toString(16).padStart(2, '0'));
    lines.push(`${at.toString(16).padStart(4, '0')}  ${part.join(' ')}`);
  }
  if (bytes.length > MOST_BYTES) lines.push(`... ${bytes.length - MOST_BYTES} more`);
  return lines.join('\n');
}

const GROUP_NAMES: ReadonlyMap<string, string> = new Map([
  ['eth', 'Ethernet'],
  ['ip', 'IP'],
  ['udp', 'UDP'],
  ['infiniband', 'InfiniBand'],
  ['roce', 'This project'],
]);
const MOST_BYTES = 512;
