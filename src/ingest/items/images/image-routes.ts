import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Files } from '../../../kernel/files/types.ts';
import { problems } from '../../../kernel/http/replies.ts';
import type { RouteApp, RouteDeps } from '../../../kernel/http/route.ts';
import { jobKeyOf } from '../../../kernel/jobs/routes.ts';
import { getItemJob } from '../service.ts';
import type { ItemKey } from '../types.ts';
import { imageErrors } from './errors.ts';
import { findImage } from './image-store.ts';
import type { ImageFile, ImageKind } from './types.ts';

export interface ImageRoutesDeps extends RouteDeps {
  files: Files;
}

const params = z.strictObject({ job_id: z.uuid(), item_id: z.coerce.number().int().min(1) });
const content = z.any().describe('The file');

const files = [
  {
    kind: 'thumbnail',
    name: 'thumbnail',
    summary: 'Get the thumbnail of an image: WebP, at most 160 pixels wide and high',
  },
  { kind: 'original', name: 'image', summary: 'Download the original image of an item' },
] as const;

/** The image of an item: a thumbnail to show, and the original to download. */
export function imageRoutes(app: RouteApp, deps: ImageRoutesDeps): void {
  for (const { kind, name, summary } of files) {
    app.route({
      method: 'GET',
      url: `/api/jobs/:job_id/items/:item_id/${name}`,
      config: { action: 'item.read' },
      schema: { tags: ['items'], summary, params, response: { 200: content, ...problems(404) } },
      handler: async (request, reply) => {
        const file = await getImage(deps, request, kind);
        if (kind === 'original') reply.header('content-disposition', attachmentOf(file.name));
        return send(deps, { request, reply, file });
      },
    });
  }
}

async function getImage(
  { db }: ImageRoutesDeps,
  request: FastifyRequest<{ Params: z.output<typeof params> }>,
  kind: ImageKind,
): Promise<ImageFile> {
  const key = jobKeyOf(request);
  await getItemJob({ db }, key);
  const wanted: ItemKey = { ...key, itemId: request.params.item_id };
  const file = await db.read(key.tenantId, (tx) => findImage(tx, { ...wanted, kind }));
  if (file) return file;
  const place = `Item ${wanted.itemId} of job ${key.jobId}`;
  throw kind === 'thumbnail'
    ? imageErrors.raise.thumbnail_not_found(`${place} has no thumbnail`)
    : imageErrors.raise.image_not_found(`${place} has no image`);
}

async function send(
  { files }: ImageRoutesDeps,
  { request, reply, file }: { request: FastifyRequest; reply: FastifyReply; file: ImageFile },
): Promise<FastifyReply> {
  const etag = `"${file.sha256}"`;
  // An item's image never changes, and reprocessing creates the same thumbnail.
  reply
    .header('etag', etag)
    .header('cache-control', 'private, max-age=31536000, immutable')
    // Another user of the same browser must not get it from the cache.
    .header('vary', 'authorization, cookie')
    .header('x-content-type-options', 'nosniff');
  const known = request.headers['if-none-match'];
  if (known?.split(',').some((one) => one.trim().replace(/^W\//, '') === etag)) return reply.code(304).send();
  return reply
    .type(file.mediaType)
    .header('content-length', file.sizeBytes)
    .send(await files.open(file.storageKey));
}

/** Headers are ASCII: the whole name goes in the form that RFC 6266 has for it. */
function attachmentOf(name: string): string {
  const last = name.split('/').at(-1) || 'image';
  const plain = last.replace(/[^\w.-]/g, '_').slice(-100);
  return `attachment; filename="${plain}"; filename*=UTF-8''${encodeURIComponent(last).replace(/['()*]/g, escaped)}`;
}

const escaped = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
