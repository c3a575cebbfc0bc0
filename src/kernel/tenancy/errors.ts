import { defineErrors } from '../../lib/errors.ts';

export const tenancyErrors = defineErrors({
  invalid_token: {
    kind: 'unauthenticated',
    status: 401,
    title: 'The token is not accepted',
    next: 'Get a new token: rightly signed, not expired, with the claims sub, tenant_id, role, iss, aud and exp.',
  },
  invalid_api_key: {
    kind: 'unauthenticated',
    status: 401,
    title: 'The API key is not accepted',
    next: 'Check that the key is complete; if it expired or was revoked, create a new one under /api/api-keys.',
  },
  invalid_session: {
    kind: 'unauthenticated',
    status: 401,
    title: 'The session has ended',
    next: 'Log in again with a new login link, such as the server prints at its start, or send a token.',
  },
  login_link_refused: {
    kind: 'unauthenticated',
    status: 401,
    title: 'The login link is not valid',
    next: 'A link works once and for 30 minutes. Ask for a new one.',
  },
  identity_provider_unavailable: {
    kind: 'transient',
    status: 503,
    title: 'The identity provider’s keys cannot be fetched',
    next: 'Try again in a few seconds; the operator checks SLUICE_JWKS_URL.',
  },
  user_disabled: {
    kind: 'forbidden',
    status: 403,
    title: 'This user is disabled',
    next: 'Ask an admin of the tenant to enable the user again.',
  },
  tenant_erased: {
    kind: 'forbidden',
    status: 403,
    title: 'This tenant was erased',
    next: 'An erased tenant id cannot be used again. Use another one.',
  },
  tenant_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such tenant',
    next: 'Check the id. Only an operator sees other tenants.',
  },
  tenant_exists: {
    kind: 'conflict',
    status: 409,
    title: 'The tenant exists already',
    next: 'Change it with PATCH /api/tenants/{tenant_id}, or choose another id.',
  },
  workspace_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such workspace',
    next: 'List the workspaces with GET /api/workspaces.',
  },
  workspace_name_taken: {
    kind: 'conflict',
    status: 409,
    title: 'A workspace with this name exists',
    next: 'Choose another name.',
  },
  workspace_in_use: {
    kind: 'conflict',
    status: 409,
    title: 'The workspace is not empty',
    next: 'Delete or move what is in it first.',
  },
  last_workspace: {
    kind: 'conflict',
    status: 409,
    title: 'A tenant keeps at least one workspace',
    next: 'Create another workspace first.',
  },
  user_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such user',
    next: 'List the users with GET /api/users; a user appears with its first request.',
  },
  user_not_changeable: {
    kind: 'forbidden',
    status: 403,
    title: 'This user cannot be changed by you',
    next: 'Nobody disables the own user, and only an operator disables an operator.',
  },
  api_key_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such API key',
    next: 'List the keys with GET /api/api-keys.',
  },
  role_not_grantable: {
    kind: 'forbidden',
    status: 403,
    title: 'A key cannot have this role',
    next: 'A key has at most its creator’s rights; see docs/roles.md.',
  },
  expiry_in_the_past: {
    kind: 'invalid',
    status: 422,
    title: 'The expiry is in the past',
    next: 'Give a later expires_at, or leave it out for a key without an end.',
  },
});
