/** Placeholder. */
import { HandsError } from './hands.ts';
import type { Handlers, Objects } from './in-process-objects.ts';

type ConnectionCall = Extract<keyof Handlers, `cm.${string}`>;

export function connectionCalls(_objects: Objects): Pick<Handlers, ConnectionCall> {
  const no = (): never => {
    throw new HandsError('unsupported', 'EOPNOTSUPP', 'not yet');
  };
  return {
    'cm.listen': no,
    'cm.close': no,
    'cm.connect': no,
    'cm.disconnect': no,
    'cm.events': no,
  };
}
