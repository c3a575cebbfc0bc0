import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { problems, timestamp } from '../../kernel/http/replies.ts';
import { principalOf, type RouteModule } from '../../kernel/http/route.ts';
import { type Invitation, inviteUser } from '../../kernel/tenancy/people.ts';
import { isUsableId, roles } from '../../kernel/tenancy/types.ts';
import { newId } from '../../lib/ids.ts';

const text = z.string().min(1).max(200).refine(isUsableId, 'must not contain control characters');

const invitationForm = z.strictObject({
  email: text.pipe(z.email()).optional(),
  user_id: text.optional().describe('Unset: the e-mail address, or without one a name that is made up'),
  name: text.optional(),
  role: z.enum(roles).default('member').describe('At most your own; an admin: member, admin or service'),
});

const invitationReply = z
  .object({
    user_id: z.string(),
    role: z.enum(roles),
    url: z
      .string()
      .describe('Give it to the person: it logs its holder in, once. It is shown here and never again'),
    expires_at: timestamp,
  })
  .meta({ id: 'Invitation' });

/** `publicUrl`: where people reach this server, when it was told. */
export function invitationRoutes({ publicUrl }: { publicUrl: string | null }): RouteModule {
  return (app, { db }) => {
    app.route({
      method: 'POST',
      url: '/api/users/invitations',
      config: { action: 'user.manage' },
      schema: {
        tags: ['users'],
        summary:
          'Invite a person by a link that works once, within 7 days; who has not come yet gets a new one',
        body: invitationForm,
        response: { 201: invitationReply, ...problems(403, 409, 413, 415, 422) },
      },
      handler: async (request, reply) => {
        const { email = null, user_id, name = null, role } = request.body;
        const userId = user_id ?? email ?? `guest-${newId()}`;
        const invitation = await inviteUser(db, {
          principal: principalOf(request),
          userId,
          role,
          name,
          email,
        });
        return reply.code(201).send(render(invitation, publicUrl ?? addressOf(request)));
      },
    });
  };
}

function render(
  { userId, role, code, expiresAt }: Invitation,
  base: string,
): z.output<typeof invitationReply> {
  const url = `${base.replace(/\/+$/, '')}/login?code=${code}`;
  return { user_id: userId, role, url, expires_at: expiresAt.toISOString() };
}

/** As the caller reached this server; a proxy counts only if TRUST_PROXY says so. */
function addressOf(request: FastifyRequest): string {
  return `${request.protocol}://${request.host}`;
}
