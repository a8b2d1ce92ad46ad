/** Rules that say no more than that others hold: their verdict is the worst of those. Data only. */

export interface DerivedRule {
  readonly id: string;
  /** Globs of rule ids, as `matchRules` takes them. */
  readonly from: string;
}

/** Statements of the annex about the whole of validation or of the transport (ref:conformance#ANX). */
export const DERIVED_RULES: readonly DerivedRule[] = [
  { id: 'ANX-23', from: 'PKT-*' },
  { id: 'ANX-24', from: 'PKT-*,ANX-03,ANX-07,ANX-08,ANX-16,ANX-20,ANX-21,ANX-27,ANX-33,ANX-41' },
  {
    id: 'ANX-25',
    from: 'RSP-PSN-*,OPS-*,LEN-*,KEY-*,RD-*,ATM-*,ACK-*,RNR-*,REQ-*,UC-*,UD-*',
  },
  { id: 'ANX-39', from: 'PKT-*,PKQ-*' },
];
