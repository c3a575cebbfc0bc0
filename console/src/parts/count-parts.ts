import type { Tone } from './status.ts';

export interface CountPart {
  label: string;
  value: number;
  tone: Tone;
}

/** Parts from different moments may not reach the total; a remainder makes the sum correct. */
export function balanced(total: number, parts: readonly CountPart[]): CountPart[] {
  const rest = total - parts.reduce((sum, part) => sum + part.value, 0);
  return rest > 0 ? [...parts, { label: 'not counted yet', value: rest, tone: 'queued' }] : [...parts];
}
