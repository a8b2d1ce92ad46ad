/**
 * Packages without published types. The parts that are used are typed in `raw-socket-module.ts` and `pcap-process.ts`.
 */
declare module 'raw-socket';
declare module 'cap';
