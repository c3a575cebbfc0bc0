import { isUsableId } from '../../kernel/tenancy/types.ts';
import { UsageError } from './exit.ts';

/** A parser for a flag that takes a whole number. */
export function wholeNumber(flag: string, { min, max }: { min: number; max: number }) {
  return (text: string): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new UsageError(`${flag} is "${text}". Allowed: a whole number from ${min} to ${max}.`);
  };
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function parseJobId(text: string): string {
  if (uuid.test(text)) return text.toLowerCase();
  throw new UsageError(
    `The job is ${JSON.stringify(text)}. Allowed: the whole id of a job; \`sluice jobs list\` shows them.`,
  );
}

export function parseTenant(text: string): string {
  if (isUsableId(text)) return text;
  throw new UsageError(
    `--tenant is ${JSON.stringify(text)}. Allowed: 1 to 200 characters, no control characters.`,
  );
}
