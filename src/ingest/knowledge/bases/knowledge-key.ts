import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { principalOf } from '../../../kernel/http/route.ts';
import type { KbKey } from '../types.ts';
import { knowledgeFormParts } from './form.ts';

/** The path of everything that belongs to a knowledge base. */
export const kbParams = z.strictObject({ kb_id: knowledgeFormParts.id });

/** The knowledge base that a request names. */
export function kbKeyOf(request: FastifyRequest & { params: { kb_id: string } }): KbKey {
  return { tenantId: principalOf(request).tenantId, kbId: request.params.kb_id };
}
