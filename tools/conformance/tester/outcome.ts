/** How a case can end before its end: the exceptions of a case, from which the runner makes a verdict. */

/** The device broke the rule: the sentence says what was expected and what came. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

/**
 * Nothing was proven: the probe itself failed, or the device could not be brought into the state that the case needs.
 */
export class Inconclusive extends Error {
  override readonly name = 'Inconclusive';
}

/** The rule does not apply to this device, or what its case needs is not there. */
export class NotApplicable extends Error {
  override readonly name = 'NotApplicable';
}

/** Throws a Violation unless `condition` holds. */
export function demand(condition: boolean, otherwise: string | (() => string)): asserts condition {
  if (!condition) throw new Violation(typeof otherwise === 'string' ? otherwise : otherwise());
}
