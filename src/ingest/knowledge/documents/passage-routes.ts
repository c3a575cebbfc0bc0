import { z } from 'zod';
import { listOf, pageOf, pageQuery, pageRequest, problems } from '../../../kernel/http/replies.ts';
import type { RouteModule } from '../../../kernel/http/route.ts';
import { kbKeyOf, kbParams } from '../bases/form.ts';
import { shownPages } from '../search/shown-pages.ts';
import { getDocument } from './documents.ts';
import { findOrdinalAt, listPassages, type Passage } from './passage-store.ts';

/** How many earlier passages are shown with the requested one. */
const leadIn = 2;

const passageReply = z
  .object({
    ordinal: z.int(),
    text: z.string(),
    heading_path: z.array(z.string()),
    start: z.int(),
    end: z.int(),
    page: z.int().optional().describe('The page or slide that it begins on'),
    pages: z.array(z.int()).optional().describe('All pages that it is on; absent if the document has none'),
  })
  .meta({ id: 'KnowledgePassage' });

export const passageRoutes: RouteModule = (app, { db, cursors }) => {
  const list = 'knowledge passages';
  app.route({
    method: 'GET',
    url: '/api/knowledge/:kb_id/documents/:document_id/passages',
    config: { action: 'knowledge.read' },
    schema: {
      tags: ['knowledge'],
      summary: 'List the passages of a document in order',
      params: kbParams.extend({ document_id: z.uuid() }),
      querystring: z.strictObject({
        ...pageQuery,
        around: z.coerce
          .number()
          .int()
          .min(0)
          .max(2_000_000_000)
          .optional()
          .describe('Start two passages before the one at this character; not together with cursor'),
      }),
      response: { 200: listOf(passageReply), ...problems(404) },
    },
    handler: async (request) => {
      const key = { ...kbKeyOf(request), documentId: request.params.document_id };
      const { limit: shown, around } = request.query;
      const { after, limit } = pageRequest(request.query, { list, cursors });
      await getDocument({ db }, key);
      const rows = await db.read(key, async (tx) => {
        const startsAt = around === undefined ? 0 : await findOrdinalAt(tx, { ...key, startAt: around });
        const fromOrdinal = after === null ? Math.max(0, startsAt - leadIn) : Number(after) + 1;
        return listPassages(tx, { ...key, fromOrdinal, limit });
      });
      return pageOf(rows, { limit: shown, list, cursors, key: (row) => String(row.ordinal), render });
    },
  });
};

function render({ ordinal, text, headingPath, startAt, endAt, pageFrom, pageTo }: Passage) {
  const pages = shownPages(pageFrom, pageTo);
  return { ordinal, text, heading_path: headingPath, start: startAt, end: endAt, ...pages };
}
