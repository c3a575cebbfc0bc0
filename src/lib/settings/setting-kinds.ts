import path from 'node:path';
import { z } from 'zod';

/** What a setting may be: a schema that takes text (environment, flags) or the value itself (config file). */
export interface Kind<T> {
  schema: z.ZodType<T>;
  /** Completes "Allowed: …". */
  allowed: string;
}

export function wholeNumber({ min, max, unit }: Range & { unit?: string }): Kind<number> {
  const toNumber = (value: unknown) =>
    typeof value === 'string' && /^\s*-?\d+\s*$/.test(value) ? Number(value) : value;
  return {
    schema: z.preprocess(toNumber, z.int().min(min).max(max)),
    allowed: `a whole number from ${min} to ${max}${unit ? ` (${unit})` : ''}`,
  };
}

type Range = { min: number; max: number };

export const bytes = (range: Range): Kind<number> => wholeNumber({ ...range, unit: 'bytes' });
export const days = (range: Range): Kind<number> => wholeNumber({ ...range, unit: 'days' });
export const milliseconds = (range: Range): Kind<number> => wholeNumber({ ...range, unit: 'milliseconds' });

export function fraction({ min, max }: Range): Kind<number> {
  const toNumber = (value: unknown) =>
    typeof value === 'string' && /^\s*\d*\.?\d+\s*$/.test(value) ? Number(value) : value;
  return {
    schema: z.preprocess(toNumber, z.number().min(min).max(max)),
    allowed: `a number from ${min} to ${max}`,
  };
}

const words: Record<string, boolean> = {
  true: true,
  yes: true,
  on: true,
  1: true,
  false: false,
  no: false,
  off: false,
  0: false,
};

export function yesOrNo(): Kind<boolean> {
  const toBoolean = (value: unknown) =>
    typeof value === 'string' ? (words[value.trim().toLowerCase()] ?? value) : value;
  return {
    schema: z.preprocess(toBoolean, z.boolean()),
    allowed: 'true or false (also yes/no, on/off, 1/0)',
  };
}

export function oneOf<const Word extends string>(...choices: Word[]): Kind<Word> {
  return { schema: z.enum(choices) as unknown as z.ZodType<Word>, allowed: `one of ${choices.join(', ')}` };
}

export function text({ min = 1, max = 1000 }: { min?: number; max?: number } = {}): Kind<string> {
  return {
    schema: z.string().trim().min(min).max(max),
    allowed: `text of ${min} to ${max} characters`,
  };
}

export function urlOf({ schemes, example }: { schemes: string[]; example: string }): Kind<string> {
  const fits = (value: string) =>
    value.includes('://') && URL.canParse(value) && schemes.includes(new URL(value).protocol.slice(0, -1));
  return {
    schema: z.string().trim().refine(fits),
    allowed: `a URL like ${example}`,
  };
}

/** At least so many bytes, so that a signing secret cannot be guessed. */
export function secretText({ minBytes }: { minBytes: number }): Kind<string> {
  return {
    schema: z.string().refine((value) => Buffer.byteLength(value) >= minBytes),
    allowed: `at least ${minBytes} bytes`,
  };
}

export function directory(): Kind<string> {
  return {
    schema: z
      .string()
      .min(1)
      .max(1000)
      .refine((value) => !value.includes('\0')),
    allowed: 'the path of a directory; a relative one counts from where Sluice is started',
  };
}

export function absolutePath(value: string, cwd: string): string {
  return path.resolve(cwd, value);
}
