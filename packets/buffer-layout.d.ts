/**
 * Types of the parts of npm `buffer-layout` 1.2.2 that `layouts.ts` uses; the package publishes none.
 *
 * `ByteAccess` is what those parts really call on what the package's documentation names a Buffer (read in its source):
 * nothing else is needed, so no Buffer is.
 */
declare module 'buffer-layout' {
  export interface ByteAccess {
    readUIntBE(offset: number, byteLength: number): number;
    writeUIntBE(value: number, offset: number, byteLength: number): void;
  }

  export class Layout<T> {
    constructor(span: number, property?: string);
    /** Bytes. */
    readonly span: number;
    readonly property: string | undefined;
    decode(b: ByteAccess, offset?: number): T;
    encode(src: T, b: ByteAccess, offset?: number): number;
  }

  export class UIntBE extends Layout<number> {}

  export class BitField {
    readonly bits: number;
    readonly property: string | undefined;
  }

  export class BitStructure extends Layout<Record<string, number>> {
    /** `msb` true: the first field takes the most significant bits. */
    constructor(word: UIntBE, msb: boolean, property?: string);
    readonly fields: readonly BitField[];
    addField(bits: number, property: string): BitField;
  }

  export class Structure extends Layout<Record<string, unknown>> {
    constructor(fields: readonly Layout<unknown>[], property?: string);
    readonly fields: readonly Layout<unknown>[];
  }
}
