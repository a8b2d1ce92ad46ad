/** What `roce uverbs` says of the device that it serves: who uses it, and what was refused. Words only. */
import type { ServedSizes } from 'rocev2/node';
import type { UverbsServer } from 'rocev2/uverbs';

/** Lines: what is open now, then what was refused since the start, the most frequent first. */
export function statusLines(
  { connections, files, listens }: ServedSizes,
  { refused, refusals }: Pick<UverbsServer, 'refused' | 'refusals'>,
): string[] {
  const now = `${counted(connections, 'connection')}, ${counted(files, 'open device file')}`;
  const since = `${counted(listens, 'listen')} and ${counted(refused, 'refusal')} since the start`;
  const often = [...refusals].sort(([, one], [, other]) => other - one);
  return [`${now}; ${since}`, ...often.map(([what, count]) => `  refused: ${what}, ${counted(count, 'time')}`)];
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
