import { z } from 'zod';
import { type CamelCase, camelCase, type TimeAsText, timeAsText } from '../../lib/snake-case.ts';
import type { Cursors, Position } from './cursor.ts';

/** RFC 9457, with a stable code. Further members depend on the code. */
const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string(),
    code: z.string(),
    request_id: z.string(),
    errors: z.array(z.object({ pointer: z.string(), message: z.string() })),
  })
  .meta({
    id: 'Problem',
    description: 'What went wrong, as RFC 9457 problem details; docs/errors.md lists the codes.',
  });

type ProblemStatus = 400 | 401 | 403 | 404 | 405 | 409 | 410 | 413 | 415 | 422 | 429 | 500 | 503;
type ProblemReplies = Partial<Record<ProblemStatus, typeof problemSchema>>;

const everywhere: ProblemStatus[] = [400, 429, 500, 503];

/** The error replies of a route that needs a right: those common to all such routes, and the named ones. */
export function problems(...statuses: ProblemStatus[]): ProblemReplies {
  return replies([...everywhere, 401, 403, ...statuses]);
}

/** The same for a public route. */
export function publicProblems(...statuses: ProblemStatus[]): ProblemReplies {
  return replies([...everywhere, ...statuses]);
}

function replies(statuses: ProblemStatus[]): ProblemReplies {
  return Object.fromEntries(statuses.map((status) => [status, problemSchema]));
}

type Shown<Shape, Row> = {
  [Name in keyof Shape & string as CamelCase<Name> extends keyof Row ? Name : never]: TimeAsText<
    Row[CamelCase<Name> & keyof Row]
  >;
};

/**
 * The members of a record that a reply names, under the reply's names and with times as ISO text. What the reply does
 * not name is left out, so a new column of a table cannot get out by itself.
 */
export function shownAs<Shape extends object, Row extends object>(
  reply: { shape: Shape },
  row: Row,
): Shown<Shape, Row> {
  const members = row as Record<string, unknown>;
  const entries = Object.keys(reply.shape)
    .filter((name) => camelCase(name) in members)
    .map((name) => [name, timeAsText(members[camelCase(name)])]);
  return Object.fromEntries(entries) as Shown<Shape, Row>;
}

const maxPageSize = 500;

/** Query of a list. */
export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(maxPageSize).default(50).describe('How many at most'),
  cursor: z.string().max(4000).optional().describe('next_cursor of the previous page'),
};

export function listOf<Item extends z.ZodType>(item: Item) {
  return z.object({ data: z.array(item), has_more: z.boolean(), next_cursor: z.string().nullable() });
}

export const timestamp = z.iso.datetime();

/** Makes a page from rows that were read with one more than the limit. */
export function pageOf<Row, Item>(
  rows: Row[],
  options: {
    limit: number;
    list: string;
    cursors: Cursors;
    /** The position of a row in the list: its key, or several values where one is not enough. */
    key: (row: Row) => string | Position;
    render: (row: Row) => Item;
  },
): { data: Item[]; has_more: boolean; next_cursor: string | null } {
  const shown = rows.slice(0, options.limit);
  const last = shown.at(-1);
  const hasMore = rows.length > shown.length && last !== undefined;
  return {
    data: shown.map(options.render),
    has_more: hasMore,
    next_cursor: hasMore ? options.cursors.encode(options.list, [options.key(last)].flat()) : null,
  };
}

/** The request to the store for `pageOf`: one row more than the limit shows whether there are more. */
export function pageRequest(
  query: { limit: number; cursor?: string | undefined },
  { list, cursors }: { list: string; cursors: Cursors },
): { limit: number; after: string | null } {
  const after = query.cursor === undefined ? null : cursors.decode(list, query.cursor)[0];
  return { limit: query.limit + 1, after: after === undefined || after === null ? null : String(after) };
}
