/** What the application's thread makes a worker with. */
import type { MessagePort } from 'node:worker_threads';
import type { OpenDeviceOptions } from '../open-here.ts';
import type { SharedControl } from './control.ts';

export interface WorkerSeed {
  readonly port: MessagePort;
  readonly control: SharedControl;
  readonly options: OpenDeviceOptions;
  readonly captures: boolean;
}
