/** The `export` command. */
export { exportCommand } from './command.ts';
