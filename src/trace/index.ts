/**
 * `rocev2/trace`: what a device does, as a file of events in the manner of qlog. Written by `TraceRecorder`, read by
 * `TraceReader`, described by `TRACE_EVENTS`.
 *
 * @module rocev2/trace
 */
export { looksLikeTrace, packetOfTrace, type TraceEvent, TraceReader } from './reader.ts';
export { TraceRecorder, type TraceRecorderOptions } from './recorder.ts';
export { TRACE_EVENT_SCHEMA, TRACE_EVENTS, type TraceEventSchema, type TraceField } from './schema.ts';
