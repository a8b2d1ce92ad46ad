/**
 * Events of a device, in words, for those who run a command: what looks like an attack, and errors of the stack itself.
 * Owns the sentences; when there is an event is the device's (`SUSPICION_THRESHOLDS`).
 */
import type { DeviceEvent, EventStream, InternalErrorEvent, SuspicionCause, SuspiciousEvent } from 'rocev2';
import type { ToolOutput } from './output.ts';
import { grouped } from './table.ts';

const CAUSES: Readonly<Record<SuspicionCause, string>> = {
  'neighbour-claim': 'claims of another MAC address for a known neighbour',
  'neighbour-claim-refuted': 'claims of a MAC address that the known one refutes',
  'neighbour-flood': 'addresses of strangers beyond their share of neighbours',
  'tcp-syn-flood': 'SYNs beyond the handshakes that are kept',
  'tcp-bad-cookie': 'ACKs of TCP handshakes that nobody began',
  'tcp-backlog-full': 'TCP connections to a full listener',
  'tcp-resets-dropped': 'TCP segments beyond those that are answered',
  'cm-source-full': 'connection requests beyond the share of their source',
  'cm-displaced': 'connection requests that gave way to those of others',
  'cm-backlog-full': 'connection requests to a full listener',
  'cm-table-full': 'connection requests for which there is no place',
  'bad-source': 'frames whose source cannot be another host',
  'bad-qpn': 'packets to queue pair numbers that do not exist',
  'bad-icrc': 'packets with a wrong ICRC',
  'bad-address': 'packets of another address than that of the peer',
  'bad-source-port': 'packets of another UDP source port than that of the peer',
  'bad-qkey': 'datagrams with a wrong Q_Key',
  'psn-outside-window': 'PSNs that no honest peer sends',
  'psn-alarm': 'times 4096 such PSNs within a second: PSNs are being guessed',
  'response-outside-window': 'responses to what was never sent, or long ago',
  'early-nak': 'NAKs sooner than an answer can come',
  'read-response-cut': 'READs by a peer that shows no sign of life',
  'cnp-excess': 'congestion notifications that no honest receiver sends',
  'access-refused': 'requests that a key or the protocol does not allow',
};

/** One line, as "suspicious: 4,096 PSNs that no honest peer sends, from 10.0.0.9 port 49153, queue pair 18". */
export function suspicionText({ cause, address, port, qpn, count }: SuspiciousEvent): string {
  const from = address === undefined ? ', from many addresses or none' : `, from ${address}`;
  const parts = [port === undefined ? '' : ` port ${port}`, qpn === undefined ? '' : `, queue pair ${qpn}`];
  return `suspicious: ${grouped(count)} ${CAUSES[cause]}${from}${parts.join('')}`;
}

/** One line, with the stack and the frame that bring it out again. */
export function internalErrorText({ during, error, qpn, frame }: InternalErrorEvent): string {
  const where = qpn === undefined ? '' : `, queue pair ${qpn} is in ERROR`;
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const bytes = frame === undefined ? '' : `\nThe frame: ${Buffer.from(frame).toString('hex')}`;
  return `internal error (${during}${where}), please report it: ${what}${bytes}`;
}

/** Prints the events of a device until it is closed, as complaints. */
export async function printDeviceEvents(events: EventStream<DeviceEvent>, output: ToolOutput): Promise<void> {
  for await (const event of events) {
    if (typeof event === 'string') continue;
    output.complaint(event.kind === 'suspicious' ? suspicionText(event) : internalErrorText(event));
  }
}
