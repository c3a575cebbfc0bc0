export const valueTypes = ['string', 'integer', 'number', 'boolean', 'date', 'email', 'url', 'uuid'] as const;
export type ValueType = (typeof valueTypes)[number];

/** A rule as it stands in the form: every field is text until it is sent. */
export interface RuleDraft {
  key: number;
  column: string;
  type: ValueType;
  isRequired: boolean;
  min: string;
  max: string;
  pattern: string;
}

export interface HttpDraft {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  /** JSON, or nothing. */
  body: string;
  /** Where the result is in the response; empty: the whole response. */
  result: string;
  /** The name of a stored secret; empty: none. */
  secret: string;
  timeoutMs: number;
}

export const emptyHttp: HttpDraft = {
  method: 'GET',
  url: '',
  body: '',
  result: '',
  secret: '',
  timeoutMs: 10_000,
};

export const catalogStrategies = [
  { name: 'sku', label: 'The same SKU' },
  { name: 'brand_title', label: 'The same brand and title' },
  { name: 'fuzzy_title', label: 'A similar title' },
] as const;

export interface CatalogDraft {
  catalog: string;
  /** Columns of the file; empty: detected by name. */
  sku: string;
  brand: string;
  title: string;
  strategies: string[];
  threshold: number;
}

export const emptyCatalog: CatalogDraft = {
  catalog: '',
  sku: '',
  brand: '',
  title: '',
  strategies: catalogStrategies.map(({ name }) => name),
  threshold: 0.6,
};

export function newRule(key: number, column = ''): RuleDraft {
  return { key, column, type: 'string', isRequired: true, min: '', max: '', pattern: '' };
}

/** What the processor `validate` takes. Bounds of texts are bounds of their length. */
export function validateOptions(rules: readonly RuleDraft[]): object {
  return { rules: rules.filter(({ column }) => column.trim() !== '').map(ruleOf) };
}

function ruleOf({ column, type, isRequired, min, max, pattern }: RuleDraft): object {
  const isText = !['integer', 'number', 'date'].includes(type);
  const bound = (text: string) => (type === 'date' ? text : Number(text));
  return {
    column: column.trim(),
    type,
    required: isRequired,
    ...(min === '' ? {} : { [isText ? 'minLength' : 'min']: bound(min) }),
    ...(max === '' ? {} : { [isText ? 'maxLength' : 'max']: bound(max) }),
    ...(pattern === '' ? {} : { pattern }),
  };
}

/** The options of the processor `http`; a body that is not JSON is sent as text, and the server checks it. */
export function httpOptions({ method, url, body, result, secret, timeoutMs }: HttpDraft): object {
  return {
    request: { method, url: url.trim(), ...(body.trim() === '' ? {} : { body: jsonOr(body) }) },
    ...(secret === '' ? {} : { auth: { type: 'bearer', secret } }),
    ...(result === '' ? {} : { response: { result } }),
    timeoutMs,
  };
}

/** What the processor `catalog` takes. */
export function catalogOptions({ catalog, sku, brand, title, strategies, threshold }: CatalogDraft): object {
  const named = Object.entries({ sku, brand, title }).filter(([, column]) => column.trim() !== '');
  return {
    catalog,
    ...(named.length === 0 ? {} : { fields: Object.fromEntries(named) }),
    strategies,
    ...(strategies.includes('fuzzy_title') ? { threshold } : {}),
  };
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Null when the text is an object in JSON; otherwise why not. */
export function jsonProblem(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? null
      : 'Options must be an object: { … }';
  } catch (error) {
    return `This is not valid JSON: ${(error as Error).message}`;
  }
}
