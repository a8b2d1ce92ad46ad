/**
 * Whether what a machine lacks is a failure: `CI` is set, and `ROCE_BARE` does not say that things are missing on
 * purpose.
 */
export function mustBeThere({ CI = '', ROCE_BARE = '' }: NodeJS.ProcessEnv): boolean {
  return CI !== '' && ROCE_BARE === '';
}
