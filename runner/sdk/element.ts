// What flows through the steps of a component. A step takes elements and returns elements: `read` turns the item into
// one element with text, `split` turns one into many, `embed` gives each a vector, `export` writes each as a row.

/** Where a piece of text stands in its item. Bytes are of the UTF-8 form; lines count from 1; ends are exclusive for bytes, inclusive for lines. */
export interface Place {
  readonly startByte: number;
  readonly endByte: number;
  readonly startLine: number;
  readonly endLine: number;
}

/** JSON that user code may put on an element. */
export type FieldValue =
  | string
  | number
  | boolean
  | null
  | readonly FieldValue[]
  | { readonly [key: string]: FieldValue };

/** One piece of an item on its way to a target. Steps return new objects and never change the ones that they got. */
export interface Element {
  /** Decoded text; absent before `read`, and for binary items. */
  readonly text?: string;
  /** Raw content; present after `read` only where a step asked for bytes. */
  readonly bytes?: Uint8Array;
  readonly place?: Place;
  /** Language or media kind, such as `typescript` or `markdown`. */
  readonly language?: string;
  readonly vector?: Float32Array;
  /** Memo key of the vector: 32 hex digits of a hash over text, model and dimensions. Set by whoever sets `vector`. */
  readonly vectorKey?: string;
  /** Additional columns of the row. */
  readonly fields?: { readonly [name: string]: FieldValue };
}

/** The item that a run works on. */
export interface Item {
  readonly source: string;
  /** Key within the source, such as a file's path. */
  readonly key: string;
  /** Version token of the source: equal tokens mean equal content. */
  readonly version: string;
  readonly sizeBytes?: number;
}
