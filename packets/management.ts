/**
 * Management datagrams (MADs) to values and back: the messages of connection management, their fields and reasons.
 *
 * @module rocev2/packets/management
 */
export * from './cm/index.ts';
export * from './cm-fields.ts';
export * from './mad.ts';
