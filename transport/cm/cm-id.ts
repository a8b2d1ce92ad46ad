/** How the application names a connection or a lookup of the connection manager. Owns the type. */

/**
 * Names a connection for the application: its local communication id. Never 0, not reused while messages of it may
 * live.
 */
export type CmId = number;
