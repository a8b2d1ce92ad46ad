/**
 * `rocev2/pcap/filter`: the display filter, a language in the manner of tcpdump over dissected packets. Runs in a
 * browser.
 *
 * Used by `roce dump`, `roce analyze` and the explorer. `compileFilter` is all that most need.
 *
 * @module rocev2/pcap/filter
 */
export { compileFilter, type PacketFilter } from './compile.ts';
export { fastField, type NumberReader } from './fast-fields.ts';
export { type FieldKind, fieldKind, fieldNames, fieldsOf, isAnalysisField } from './field-names.ts';
export { fieldsWithoutIcrc, ICRC_FIELD, markNames, subjectFields } from './fields.ts';
export { FilterError } from './filter-error.ts';
export { type Completion, completeFilter, filterHelp } from './help.ts';
export { WORD_GROUPS, type WordGroup } from './language.ts';
export { type OutlineNumbers, PacketOutline } from './outline.ts';
export { suggest } from './suggest.ts';
export type { FilterFacts, FilterSubject, Predicate } from './types.ts';
export type { FilterWord } from './word.ts';
