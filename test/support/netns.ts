/** Work inside a network namespace, for tests. */
export { within } from '../../tools/within-netns.ts';
