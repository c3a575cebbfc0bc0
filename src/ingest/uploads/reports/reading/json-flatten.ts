import type { SluiceError } from '../../../../lib/errors.ts';
import { wellFormed } from '../../../../lib/well-formed.ts';
import { reportErrors } from '../errors.ts';
import { skipSpace, stringEnd, stringValue, valueEnd } from './json-text.ts';
import type { ReadingLimits } from './types.ts';

const quote = 34;
const comma = 44;
const openArray = 91;
const openObject = 123;

/** A path in the records. Kept as a tree, because concatenating paths for each value took a third of the time. */
interface PathNode {
  path: string;
  /** -1 until a value is found at this path. */
  column: number;
  children: Map<string, PathNode>;
}

/**
 * Turns records into rows of cells. It works on the text of a record and not on the result of JSON.parse, because that
 * loses trailing zeros and the last digits of long ids.
 */
export class RecordFlattener {
  readonly #headers: string[];
  readonly #columnOf = new Map<string, number>();
  readonly #root: PathNode = { path: '', column: -1, children: new Map() };
  readonly #limits: ReadingLimits;
  #nodeCount = 0;
  #text = '';
  #at = 0;
  #cells: string[] = [];
  #recordNo = 0;

  /** `headers` grows with new paths; existing positions never change. */
  constructor(headers: string[], limits: ReadingLimits) {
    this.#headers = headers;
    this.#limits = limits;
    for (const [at, header] of headers.entries()) {
      if (!this.#columnOf.has(header)) this.#columnOf.set(header, at);
    }
  }

  /** The text must be a valid JSON object. */
  flatten(text: string, recordNo: number): string[] {
    this.#text = text;
    this.#at = 0;
    this.#recordNo = recordNo;
    this.#cells = new Array<string>(this.#headers.length).fill('');
    this.#object(this.#root);
    return this.#cells;
  }

  #object(node: PathNode): void {
    this.#skip(1);
    while (this.#text.charCodeAt(this.#at) === quote) {
      const key = this.#string();
      this.#skip(0);
      this.#skip(1);
      this.#value(this.#childOf(node, key));
      this.#skip(0);
      if (this.#text.charCodeAt(this.#at) === comma) this.#skip(1);
    }
    this.#at += 1;
  }

  #value(node: PathNode): void {
    const code = this.#text.charCodeAt(this.#at);
    if (code === openObject) this.#object(node);
    else if (code === openArray) this.#array(node);
    else if (code === quote) this.#put(node, wellFormed(this.#string()));
    else this.#scalar(node);
  }

  #string(): string {
    const from = this.#at;
    this.#at = stringEnd(this.#text, from);
    return stringValue(this.#text, from, this.#at);
  }

  #scalar(node: PathNode): void {
    const from = this.#at;
    this.#at = valueEnd(this.#text, from, 1);
    const text = this.#text.slice(from, this.#at);
    this.#put(node, text === 'null' ? '' : text);
  }

  #array(node: PathNode): void {
    const end = valueEnd(this.#text, this.#at, this.#limits.jsonDepth);
    const text = this.#text.slice(this.#at, end);
    const actions = findActions(text, this.#limits.jsonDepth);
    if (actions === null) this.#put(node, wellFormed(text));
    else for (const [type, value] of actions) this.#put(this.#childOf(node, type), value);
    this.#at = end;
  }

  /** Passes some characters and the whitespace after them. */
  #skip(count: number): void {
    this.#at = skipSpace(this.#text, this.#at + count);
  }

  #childOf(node: PathNode, key: string): PathNode {
    const known = node.children.get(key);
    if (known !== undefined) return known;
    // Objects without values add no columns, but their number must be limited too.
    this.#nodeCount += 1;
    if (this.#nodeCount > this.#limits.columns * 2) throw this.#tooManyColumns();
    const path = wellFormed(node === this.#root ? key : `${node.path}.${key}`);
    const child: PathNode = { path, column: this.#columnOf.get(path) ?? -1, children: new Map() };
    node.children.set(key, child);
    return child;
  }

  #put(node: PathNode, cell: string): void {
    if (cell.length > this.#limits.cellLength) throw this.#cellTooLarge(node.path);
    if (node.column === -1) node.column = this.#columnOf.get(node.path) ?? this.#addColumn(node.path);
    this.#cells[node.column] = cell;
  }

  #addColumn(path: string): number {
    const column = this.#headers.length;
    if (column === this.#limits.columns) throw this.#tooManyColumns();
    this.#columnOf.set(path, column);
    this.#headers.push(path);
    return column;
  }

  #cellTooLarge(path: string): SluiceError {
    const most = this.#limits.cellLength;
    return reportErrors.raise.report_cell_too_large(
      `Record ${this.#recordNo} has a value of more than ${most} characters, the most allowed, in ` +
        `${JSON.stringify(path.slice(0, 100))}.`,
      { details: { record: this.#recordNo, max_characters: most } },
    );
  }

  #tooManyColumns(): SluiceError {
    const most = this.#limits.columns;
    return reportErrors.raise.report_too_many_columns(
      `The records up to number ${this.#recordNo} have more than ${most} different fields, the most allowed.`,
      { details: { record: this.#recordNo, max_columns: most } },
    );
  }
}

/** The members of the object that begins at `start`, in order. An incomplete last member is left out. */
export function* membersOf(
  text: string,
  start: number,
  maxDepth: number,
): Generator<{ key: string; from: number; to: number }> {
  let at = skipSpace(text, start + 1);
  while (text.charCodeAt(at) === quote) {
    const keyEnd = stringEnd(text, at);
    if (keyEnd === -1) return;
    const from = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const to = valueEnd(text, from, maxDepth);
    if (to === -1) return;
    yield { key: stringValue(text, at, keyEnd), from, to };
    const next = skipSpace(text, to);
    if (text.charCodeAt(next) !== comma) return;
    at = skipSpace(text, next + 1);
  }
}

/**
 * Meta's lists of `{action_type, value}` as pairs; null for any other list. A list that names one type twice (broken
 * down by device, for example) has no single figure for it, so it stays as it is and loses nothing.
 */
function findActions(text: string, maxDepth: number): Map<string, string> | null {
  const actions = new Map<string, string>();
  for (let at = skipSpace(text, 1); at < text.length - 1; ) {
    if (text.charCodeAt(at) !== openObject) return null;
    const action = findAction(text, at, maxDepth);
    if (action === null || actions.has(action.type)) return null;
    actions.set(action.type, action.value);
    at = skipSpace(text, valueEnd(text, at, maxDepth));
    if (text.charCodeAt(at) === comma) at = skipSpace(text, at + 1);
  }
  return actions;
}

function findAction(text: string, start: number, maxDepth: number): { type: string; value: string } | null {
  let type: string | null = null;
  let value: string | null = null;
  for (const { key, from, to } of membersOf(text, start, maxDepth)) {
    if (key === 'action_type' && text.charCodeAt(from) === quote) type = stringValue(text, from, to);
    if (key === 'value') value = scalarText(text, from, to);
  }
  return type === null || value === null ? null : { type, value };
}

/** Null for objects and arrays, which are not figures. */
function scalarText(text: string, from: number, to: number): string | null {
  const code = text.charCodeAt(from);
  if (code === openObject || code === openArray) return null;
  if (code === quote) return wellFormed(stringValue(text, from, to));
  const scalar = text.slice(from, to);
  return scalar === 'null' ? '' : scalar;
}
