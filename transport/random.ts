/**
 * Where the protocol gets its randomness from: a value handed in, so that a seed decides everything.
 *
 * Owns: the interface. Never: a generator; src/ has one that cannot be predicted, tests and the simulated world a
 * seeded one.
 */
export interface Random {
  /** The next uniformly distributed integer in [0, 2^32). */
  u32(): number;
}
