/** Packages without published types. What is used of them is typed in `raw-socket-module.ts` and `pcap-process.ts`. */
declare module 'raw-socket';
declare module 'cap';
