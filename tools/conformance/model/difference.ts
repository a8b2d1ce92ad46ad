/** What a judge says when a device does what its model does not allow. */

export interface ModelDifference {
  /** The rule that it breaks. */
  readonly ruleId: string;
  /** What was expected and what came. */
  readonly sentence: string;
}

/** More ways to explain what was seen than a judge follows: nothing is proven. */
export class TooManyWays extends Error {
  override readonly name = 'TooManyWays';
}
