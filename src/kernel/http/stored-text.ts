import { z } from 'zod';

/** A text that PostgreSQL stores unchanged: it refuses NUL, and half a surrogate pair would become U+FFFD. */
export const storedText = (max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => isStorable(text), 'must not contain a NUL character or a broken surrogate pair');

const maxLevels = 64;

/** Whether PostgreSQL stores the value unchanged, as text or in JSON of at most 64 levels. */
export function isStorable(value: unknown, level = 0): boolean {
  if (level > maxLevels) return false;
  if (typeof value === 'string') return !/[\0\p{Surrogate}]/u.test(value);
  if (value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.every((part) => isStorable(part, level + 1));
  return Object.entries(value).every(([key, part]) => isStorable(key) && isStorable(part, level + 1));
}
