import type { FastifyReply } from 'fastify';
import { normalizedJson } from '../../../kernel/rows/normalized-fields.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import { itemErrors } from '../errors.ts';
import { findItemRow } from './store.ts';

/** Sends one row with everything that is known about it. */
export async function sendItemRow(
  reply: FastifyReply,
  { db }: { db: Database },
  key: { tenantId: string; jobId: string; itemId: number },
): Promise<FastifyReply> {
  const row = await db.tenant(key.tenantId, (tx) => findItemRow(tx, key));
  if (!row) throw itemErrors.raise.item_not_found(`Job ${key.jobId} has no item ${key.itemId}`);
  const normalized = row.normalizedJson ?? normalizedJson(row.inputJson);
  // Text and not objects: numbers of any length and every key survive.
  const body = `${row.json.slice(0, -1)},"normalized":${normalized}}`;
  return reply.type('application/json; charset=utf-8').send(Buffer.from(body, 'utf8'));
}
