/** Every operation there is, once. */
import { EXTENDED } from './extended.ts';
import { LOCAL } from './local.ts';
import { MANAGEMENT } from './management.ts';
import type { Operation } from './operation.ts';
import { ANSWERS, MIGRATION, ONE_SIDED, SENDS } from './reliable.ts';
import { DATAGRAMS, UNRELIABLE_CONNECTION } from './unreliable.ts';

export const OPERATIONS: readonly Operation[] = [
  ...SENDS,
  ...ONE_SIDED,
  ...ANSWERS,
  MIGRATION,
  ...LOCAL,
  ...UNRELIABLE_CONNECTION,
  ...DATAGRAMS,
  ...EXTENDED,
  ...MANAGEMENT,
];
