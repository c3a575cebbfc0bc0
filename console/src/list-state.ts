import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';

/** Reads one search parameter; undefined for what is absent or makes no sense, so that a mangled link still opens. */
export type ParamReader<T> = (text: string) => T | undefined;
export type SearchParser<T> = (search: Record<string, unknown>) => Partial<T>;
export type SearchOf<P> = P extends SearchParser<infer T> ? Partial<T> : never;

const maxTextLength = 500;

export function text(): ParamReader<string> {
  return (value) => (value === '' || value.length > maxTextLength ? undefined : value);
}

export function oneOf<const T extends string>(allowed: readonly T[]): ParamReader<T> {
  return (value) => allowed.find((candidate) => candidate === value);
}

/** Several of a list, separated by commas. */
export function someOf<const T extends string>(allowed: readonly T[]): ParamReader<T[]> {
  return (value) => {
    const found = allowed.filter((candidate) => value.split(',').includes(candidate));
    return found.length === 0 ? undefined : found;
  };
}

export function wholeNumber(range: { min: number; max: number }): ParamReader<number> {
  return (value) => {
    const number = /^-?\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    return number >= range.min && number <= range.max ? number : undefined;
  };
}

/** Present or not: `?held=1`. */
export function flag(): ParamReader<true> {
  return (value) => (value === '1' || value === 'true' ? true : undefined);
}

/** A day as date inputs write it. */
export function isoDay(): ParamReader<string> {
  return (value) =>
    /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value)) ? value : undefined;
}

/** For a route's `validateSearch` and for useListState: keeps what is declared and readable, drops the rest. */
export function searchParser<T>(readers: { [K in keyof T]: ParamReader<T[K]> }): SearchParser<T> {
  return (search) => {
    const state: Partial<T> = {};
    for (const name of Object.keys(readers) as (keyof T & string)[]) {
      const value = search[name];
      if (value === undefined || value === null) continue;
      const parsed = readers[name](Array.isArray(value) ? value.join(',') : String(value));
      if (parsed !== undefined) state[name] = parsed;
    }
    return state;
  };
}

/**
 * The state of a list, which lives in the URL: `const [state, change] = useListState(jobsSearch)`. A change with
 * undefined takes a parameter away. Filters replace the entry in the history: Back leaves the list.
 */
export function useListState<T>(
  parser: SearchParser<T>,
): [state: Partial<T>, change: (changes: Partial<T>) => void] {
  const search = useSearch({ strict: false }) as Record<string, unknown>;
  const navigate = useNavigate();
  const state = useMemo(() => parser(search), [parser, search]);
  const change = useCallback(
    (changes: Partial<T>) => {
      const update = (before: Record<string, unknown>) => ({ ...before, ...changes });
      // The route's own type of search is known to its parser, not here.
      void navigate({ to: '.', search: update as never, replace: true, resetScroll: false });
    },
    [navigate],
  );
  return [state, change];
}

/** Parameters are plain text in the address bar: no JSON, no quotes. */
export function readSearch(searchText: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(searchText));
}

export function writeSearch(search: Record<string, unknown>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (value === undefined || value === null || value === '' || value === false) continue;
    params.set(name, value === true ? '1' : Array.isArray(value) ? value.join(',') : String(value));
  }
  const written = params.toString();
  return written === '' ? '' : `?${written}`;
}
