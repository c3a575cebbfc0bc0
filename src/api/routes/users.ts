import { z } from 'zod';
import {
  listOf,
  pageOf,
  pageQuery,
  pageRequest,
  problems,
  shownAs,
  timestamp,
} from '../../kernel/http/replies.ts';
import { principalOf, type RouteModule } from '../../kernel/http/route.ts';
import { removeUser } from '../../kernel/tenancy/people.ts';
import type { Admissions } from '../../kernel/tenancy/provisioning.ts';
import { changeUser, listUsers } from '../../kernel/tenancy/service.ts';
import { isUsableId, roles, type User } from '../../kernel/tenancy/types.ts';

const tags = ['users'];
const list = 'users';
const userReply = z
  .object({
    user_id: z.string(),
    role: z.enum(roles),
    name: z.string().nullable(),
    email: z.string().nullable(),
    disabled: z.boolean(),
    disabled_at: timestamp.nullable(),
    invited_at: timestamp.nullable().describe('Invited then, and has not come yet'),
    operator: z
      .boolean()
      .describe('Has used a verified operator token: only an operator can change this user'),
    created_at: timestamp,
    last_seen_at: timestamp,
  })
  .meta({ id: 'User' });

const userParams = z.strictObject({ user_id: z.string().refine(isUsableId, 'is not a possible user id') });

function renderUser(user: User): z.output<typeof userReply> {
  return {
    ...shownAs(userReply, user),
    disabled: user.disabledAt !== null,
    operator: user.operatorSince !== null,
  };
}

/** Users appear with their first token; here they are listed, disabled and enabled. */
export function userRoutes(admissions: Admissions): RouteModule {
  return (app, { db, cursors }) => {
    app.route({
      method: 'GET',
      url: '/api/users',
      config: { action: 'user.read' },
      schema: {
        tags,
        summary: 'List users',
        querystring: z.strictObject(pageQuery),
        response: { 200: listOf(userReply), ...problems() },
      },
      handler: async (request) => {
        const { limit } = request.query;
        const page = pageRequest(request.query, { list, cursors });
        const rows = await listUsers(db, principalOf(request).tenantId, page);
        return pageOf(rows, { limit, list, cursors, key: (row) => row.userId, render: renderUser });
      },
    });
    app.route({
      method: 'PATCH',
      url: '/api/users/:user_id',
      config: { action: 'user.manage' },
      schema: {
        tags,
        summary:
          'Disable or enable a user with the keys behind which they are, or set the role; counts within ten seconds',
        params: userParams,
        body: z
          .strictObject({
            disabled: z.boolean().optional(),
            role: z
              .enum(roles)
              .optional()
              .describe('Until a newer token states another one; an admin: member, admin or service'),
            operator: z
              .literal(false)
              .optional()
              .describe(
                'Admins can change the user again, until the next operator token; for operators only',
              ),
          })
          .refine((body) => Object.keys(body).length > 0, 'must name what to change'),
        response: { 200: userReply, ...problems(404, 413, 415) },
      },
      handler: async (request) => {
        const change = { principal: principalOf(request), userId: request.params.user_id };
        return renderUser(await changeUser({ db, admissions }, { ...change, ...request.body }));
      },
    });
    app.route({
      method: 'DELETE',
      url: '/api/users/:user_id',
      config: { action: 'user.manage' },
      schema: {
        tags,
        summary: 'Remove a user with their sessions and keys; a valid token brings them back',
        params: userParams,
        response: { 204: z.null().describe('Removed'), ...problems(404) },
      },
      handler: async (request, reply) => {
        const { user_id: userId } = request.params;
        await removeUser({ db, admissions }, { principal: principalOf(request), userId });
        return reply.code(204).send(null);
      },
    });
  };
}
