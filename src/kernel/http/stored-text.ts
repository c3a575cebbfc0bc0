import { z } from 'zod';

/** A text that PostgreSQL stores unchanged: it refuses NUL, and half a surrogate pair would become U+FFFD. */
export const storedText = (max: number) =>
  z
    .string()
    .max(max)
    .refine(
      (text) => !/[\0\p{Surrogate}]/u.test(text),
      'must not contain a NUL character or a broken surrogate pair',
    );
