/**
 * How a connection between two ends of a link ended. In a file of its own: it is part of types that have to do without
 * those of Node.
 */

/** The peer left, the transport failed, or what came was no stream of frames. */
export type ConnectionEnd = 'left' | 'broken' | 'nonsense';
