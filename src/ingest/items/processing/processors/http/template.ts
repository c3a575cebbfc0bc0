import { wellFormed } from '../../../../../lib/well-formed.ts';
/**
 * Texts with `{{column}}` in them. A value is always encoded for the place where it goes, so no row can add a header,
 * a query parameter or a JSON member, or lead to another path than the template's.
 */
export type TemplatePart = string | { column: string };

/** A value that cannot be put where the template wants it; the item fails, the others go on. */
export class TemplateError extends Error {
  readonly code: 'template_value_missing' | 'template_value_refused';

  constructor(code: TemplateError['code'], message: string) {
    super(message);
    this.name = 'TemplateError';
    this.code = code;
  }
}

export type Row = Record<string, unknown>;

/** Null when a `{{` has no `}}` or names no column. */
export function parseTemplate(text: string): TemplatePart[] | null {
  const parts: TemplatePart[] = [];
  let from = 0;
  for (let open = text.indexOf('{{'); open !== -1; open = text.indexOf('{{', from)) {
    const close = text.indexOf('}}', open + 2);
    const column = close === -1 ? '' : text.slice(open + 2, close).trim();
    if (column === '') return null;
    if (open > from) parts.push(text.slice(from, open));
    parts.push({ column });
    from = close + 2;
  }
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}

export function hasPlaceholder(text: string): boolean {
  return text.includes('{{');
}

/** The path and query of a URL; the scheme and host of the template are literal. */
export function renderUrl(template: string, row: Row): string {
  let isQuery = false;
  const rendered = partsOf(template).map((part) => {
    if (typeof part === 'string') {
      isQuery ||= part.includes('?');
      return part;
    }
    const text = textOf(row, part.column);
    return encodeURIComponent(wellFormed(isQuery ? (text ?? '') : pathText(text, part.column)));
  });
  const url = rendered.join('');
  if (hasDotSegment(url)) {
    throw new TemplateError('template_value_refused', 'The values of this row would lead to another path');
  }
  return url;
}

/** A segment of dots climbs to another path, also when the dots are encoded. */
export function hasDotSegment(url: string): boolean {
  const path = url.replace(/^https?:\/\//i, '').split(/[?#]/)[0] ?? '';
  return path.split(/[\\/]/).some((segment) => /^(\.|%2e){1,2}$/i.test(segment));
}

/** Null: the template is nothing but one placeholder, and the row has no value for it. */
export function renderText(template: string, row: Row): string | null {
  const parts = partsOf(template);
  const [only] = parts;
  if (parts.length === 1 && typeof only === 'object') return textOf(row, only.column);
  return parts.map((part) => (typeof part === 'string' ? part : (textOf(row, part.column) ?? ''))).join('');
}

/** Everything that is not printable ASCII is percent-encoded, line breaks first of all. */
export function renderHeader(template: string, row: Row): string | null {
  const text = renderText(template, row);
  return text === null ? null : wellFormed(text).replace(/[^\x20-\x7e]+/g, encodeURIComponent);
}

/** A string that is nothing but one placeholder becomes the value with its type; keys are literal. */
export function renderJson(template: unknown, readColumn: (column: string) => unknown): unknown {
  if (typeof template === 'string') return renderJsonText(template, readColumn);
  if (Array.isArray(template)) return template.map((inner) => renderJson(inner, readColumn));
  if (typeof template !== 'object' || template === null) return template;
  return Object.fromEntries(
    Object.entries(template).map(([key, inner]) => [key, renderJson(inner, readColumn)]),
  );
}

export function columnOf(row: Row, column: string): unknown {
  return Object.hasOwn(row, column) ? row[column] : undefined;
}

export function textOf(row: Row, column: string): string | null {
  return toText(columnOf(row, column));
}

function renderJsonText(template: string, readColumn: (column: string) => unknown): unknown {
  const parts = partsOf(template);
  const [only] = parts;
  if (parts.length === 1 && typeof only === 'object') return readColumn(only.column) ?? null;
  return parts
    .map((part) => (typeof part === 'string' ? part : (toText(readColumn(part.column)) ?? '')))
    .join('');
}

/** Without a value the path would name the whole collection; with dots, another resource. */
function pathText(text: string | null, column: string): string {
  if (text === null || text.trim() === '') {
    throw new TemplateError(
      'template_value_missing',
      `The column ${JSON.stringify(column)} is empty in this row, and the URL needs it`,
    );
  }
  if (text.split(/[\\/]/).some((segment) => segment === '.' || segment === '..')) {
    throw new TemplateError(
      'template_value_refused',
      `The column ${JSON.stringify(column)} holds "." or ".." as a part of a path, which a URL cannot take from a row`,
    );
  }
  return text;
}

function toText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'object') return JSON.stringify(value);
  return String(value);
}

function partsOf(template: string): TemplatePart[] {
  return parseTemplate(template) ?? [template];
}
