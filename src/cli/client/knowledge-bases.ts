import { shortText } from '../terminal/cells.ts';
import { CommandFailure, UsageError } from '../terminal/exit.ts';
import { note } from '../terminal/output.ts';
import type { Client } from './client.ts';

export function parseKb(text: string): string {
  const isFine = text !== '' && [...text].length <= 200 && !/[\p{Cc}\p{Cs}]/u.test(text);
  if (isFine) return text;
  throw new UsageError(
    `--kb is ${JSON.stringify(text.slice(0, 80))}. Allowed: 1 to 200 characters without control characters.`,
  );
}

export function routeOf(kb: string): string {
  return `/api/knowledge/${encodeURIComponent(kb)}`;
}

export async function makeIfMissing(
  client: Client,
  { kb, route, signal }: { kb: string; route: string; signal: AbortSignal },
): Promise<boolean> {
  try {
    await client.get(route, { signal });
    return false;
  } catch (error) {
    if (!isRefusal(error, 'knowledge_base_not_found')) throw error;
    const body = { kb_id: kb, name: kb };
    await client.post('/api/knowledge', { body, signal }).catch((other: unknown) => {
      // Somebody else created it in between.
      if (!isRefusal(other, 'knowledge_base_exists')) throw other;
    });
    note(`Created the knowledge base ${shortText(kb, 80)}.`);
    return true;
  }
}

export function isRefusal(error: unknown, code: string): boolean {
  return error instanceof CommandFailure && error.code === code;
}
