import { validatorCompiler } from '@fastify/type-provider-zod';
import type { FastifySchemaCompiler } from 'fastify';
import type { FastifyValidationResult } from 'fastify/types/schema.js';
import { createTurns } from '../../lib/timing/event-loop-turns.ts';

export interface LongList {
  /** The member of the body that is the list. */
  member: string;
  maxElements: number;
  /** What is wrong with an element that is too large to be looked at in one go; null: nothing. */
  refuse(element: unknown): { path: string; message: string } | null;
}

interface Issue {
  instancePath: string;
  message: string;
}

type Checked = { error?: unknown };

/**
 * Checks bodies whose list may have megabytes: element by element, in turns with the other requests. The result is the
 * same as of the schema as a whole, except that it ends with the first wrong element.
 */
export function longListValidator(list: LongList): FastifySchemaCompiler<unknown> {
  return (route) => {
    const check = validatorCompiler(route as never) as (body: unknown) => Checked;
    const each = route.httpPart === 'body' ? (body: unknown) => checkBody(body, check, list) : check;
    return each as FastifyValidationResult;
  };
}

async function checkBody(
  body: unknown,
  check: (body: unknown) => Checked,
  { member, maxElements, refuse }: LongList,
): Promise<true> {
  const all = (body as Record<string, unknown> | null)?.[member];
  if (!Array.isArray(all)) return accept(check(body));
  const { [member]: _, ...rest } = body as Record<string, unknown>;
  // As many as are too many, and nothing in them.
  const without = all.length > maxElements ? new Array(maxElements + 1).fill(null) : [];
  accept(check({ ...rest, [member]: without }));
  const takeTurn = createTurns();
  for (const [at, element] of all.entries()) {
    const refused = refuse(element);
    const path = `/${member}/${at}`;
    // Fastify takes what an asynchronous check rejects with for what is wrong.
    if (refused !== null) throw [{ instancePath: `${path}/${refused.path}`, message: refused.message }];
    accept(check({ ...rest, [member]: [element] }), (issue) => ({
      ...issue,
      instancePath: issue.instancePath.replace(`/${member}/0`, path),
    }));
    await takeTurn();
  }
  return true;
}

function accept({ error }: Checked, rename: (issue: Issue) => Issue = (issue) => issue): true {
  if (error === undefined) return true;
  throw (error as Issue[]).map(rename);
}
