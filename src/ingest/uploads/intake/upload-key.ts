import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { principalOf } from '../../../kernel/http/route.ts';
import { ownerFilter } from '../../../kernel/tenancy/types.ts';
import type { OwnedUploadKey } from '../types.ts';

export const uploadParams = z.strictObject({ upload_id: z.uuid() });

/** The upload that a request names, as its caller may see it. */
export function keyOf(request: FastifyRequest & { params: { upload_id: string } }): OwnedUploadKey {
  const principal = principalOf(request);
  return {
    tenantId: principal.tenantId,
    uploadId: request.params.upload_id,
    ownerId: ownerFilter(principal),
  };
}
