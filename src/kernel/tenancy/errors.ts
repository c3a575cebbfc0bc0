import {
  conflict,
  defineErrors,
  forbidden,
  invalid,
  notFound,
  transient,
  unauthenticated,
} from '../../lib/errors.ts';

export const tenancyErrors = defineErrors({
  invalid_token: unauthenticated(
    'The token is not accepted',
    'Get a new token: correctly signed, not expired, with the claims sub, tenant_id, role, iss, aud and exp.',
  ),
  tenant_id_refused: unauthenticated(
    'No new tenant may have this id',
    'Issue tokens with a tenant_id of visible characters, without spaces at its ends and in Unicode form NFC.',
  ),
  invalid_api_key: unauthenticated(
    'The API key is not accepted',
    'Check that the key is complete; if it expired or was revoked, create a new one under /api/api-keys.',
  ),
  api_key_suspended: unauthenticated(
    'The API key is suspended',
    'It works again when the user behind it is enabled and has a role that covers the key’s. Ask an admin, or use ' +
      'another key.',
  ),
  invalid_session: unauthenticated(
    'The session has ended',
    'Log in again with a new login link (`sluice login` prints one), or send a token.',
  ),
  login_link_refused: unauthenticated(
    'The login link is not valid',
    'A link works once, for 30 minutes (an invitation: for 7 days). `sluice login` prints a new one; ask whoever ' +
      'invited you for a new invitation.',
  ),
  identity_provider_unavailable: transient(
    'The identity provider’s keys cannot be fetched',
    'Try again in a few seconds; the operator checks SLUICE_JWKS_URL.',
  ),
  user_disabled: forbidden('This user is disabled', 'Ask an admin of the tenant to enable the user again.'),
  tenant_erased: forbidden(
    'This tenant was erased',
    'An erased tenant id cannot be used again. Use another one.',
  ),
  tenant_not_found: notFound('There is no such tenant', 'Check the id. Only an operator sees other tenants.'),
  tenant_exists: conflict(
    'The tenant exists already',
    'Change it with PATCH /api/tenants/{tenant_id}, or choose another id.',
  ),
  workspace_not_found: notFound(
    'There is no such workspace',
    'List the workspaces with GET /api/workspaces.',
  ),
  workspace_name_taken: conflict('A workspace with this name exists', 'Choose another name.'),
  workspace_in_use: conflict('The workspace is not empty', 'Delete or move what is in it first.'),
  last_workspace: conflict('A tenant keeps at least one workspace', 'Create another workspace first.'),
  user_not_found: notFound(
    'There is no such user',
    'List the users with GET /api/users; a user appears with its first request.',
  ),
  user_exists: conflict(
    'The user exists already',
    'Nobody can get a link to act as another person. `PATCH /api/users/{user_id}` changes the role; remove the user ' +
      'first to invite them again.',
  ),
  user_id_refused: invalid('No user may have this id', 'Use an e-mail address, or another plain name.'),
  user_not_changeable: forbidden(
    'You cannot change this user',
    'You cannot disable, remove or promote yourself, and only an operator can change an operator.',
  ),
  session_not_found: notFound('There is no such session of yours', 'List them with GET /api/me/sessions.'),
  api_key_not_found: notFound('There is no such API key', 'List the keys with GET /api/api-keys.'),
  operator_only: forbidden(
    'Only an operator can change this',
    'It belongs to an operator. Ask an operator to do it.',
  ),
  role_not_grantable: forbidden(
    'You cannot give this role',
    'Keys, invited people and changed roles have at most the rights of who made them; see docs/roles.md.',
  ),
  expiry_in_the_past: invalid(
    'The expiry is in the past',
    'Give a later expires_at, or leave it out for a key without an end.',
  ),
});

export function userDisabled(userId: string, disabledAt: Date): Error {
  return tenancyErrors.raise.user_disabled(`The user ${userId} was disabled on ${disabledAt.toISOString()}`);
}
