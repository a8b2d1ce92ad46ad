/** What an attempt to send the next packet came to. */
export const Attempt = {
  Nothing: 0,
  Sent: 1,
  Fault: 2,
  /** A request that sends nothing was executed. */
  Executed: 3,
} as const;
export type Attempt = (typeof Attempt)[keyof typeof Attempt];
