/**
 * Area PKQ: P_Key. Which partition keys a QP takes.
 *
 * Data only, after ref:conformance#PKQ.
 */
import type { ConformanceRule } from './types.ts';

/** Rules of area PKQ: P_Key. */
export const PKQ_RULES: readonly ConformanceRule[] = [
  {
    id: 'PKQ-01',
    area: 'PKQ',
    source: 'C9-42 (cited by pib)',
    certainty: 'C',
    level: 'must',
    role: 'cm',
    needs: 'wire',
    priority: 2,
    says: "QP1 accepts a P_Key that matches any entry of the port's table.",
    shownBy: 'Send a MAD with each entry of the table and with a foreign key: only the first are answered.',
  },
  {
    id: 'PKQ-02',
    area: 'PKQ',
    source: 'C9-43 (cited by pib)',
    certainty: 'C',
    level: 'must',
    role: 'responder',
    needs: 'wire',
    priority: 2,
    says: 'Other QPs compare with the entry that their pkey_index names.',
    shownBy: 'Send with another valid entry: silence.',
  },
  {
    id: 'PKQ-03',
    area: 'PKQ',
    source: 'pib, rxe',
    certainty: 'C',
    level: 'must',
    role: 'responder',
    needs: 'wire',
    priority: 2,
    says: 'A mismatch of the P_Key is silent, and counted where the device has a counter for it.',
    shownBy: 'Send 0x1234: silence, and the counter of bad P_Keys rises.',
  },
  {
    id: 'PKQ-04',
    area: 'PKQ',
    source: 'A17.4.7',
    certainty: 'R',
    level: 'must',
    role: 'responder',
    needs: 'wire',
    priority: 1,
    says: 'The default P_Key is in the table at power-on, and the P_Keys of inbound packets are validated.',
    shownBy: '0xFFFF works out of the box.',
  },
  {
    id: 'PKQ-05',
    area: 'PKQ',
    source: 'membership rule',
    certainty: 'U',
    level: 'should',
    role: 'responder',
    needs: 'wire',
    priority: 3,
    says: 'Two limited members do not match; otherwise the 15 low bits decide.',
    shownBy: '0x7FFF against 0xFFFF is accepted, 0x7FFF against 0x7FFF is dropped.',
  },
  {
    id: 'PKQ-06',
    area: 'PKQ',
    source: 'house rule',
    certainty: 'U',
    level: 'should',
    role: 'responder',
    needs: 'wire',
    priority: 3,
    says: 'P_Key 0x0000 and 0x8000 never match.',
    shownBy: 'Send both: silence.',
  },
];
