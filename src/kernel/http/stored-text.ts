import { z } from 'zod';

/** A text that PostgreSQL keeps as it is: a NUL it refuses, and half of a pair would come back as U+FFFD. */
export const storedText = (max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => !/[\0\p{Surrogate}]/u.test(text), 'must not hold a NUL or half a character');
