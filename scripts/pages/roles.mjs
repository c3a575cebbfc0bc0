/** The text of docs/roles.md. */
export function renderRolesDocument({ actions, can, grantableRoles, rights, roles }) {
  const header = ['right', ...roles, 'allows to'];
  const lines = actions.map((action) => [
    `\`${action}\``,
    ...roles.map((role) => (can(role, action) ? '●' : '')),
    rights[action].meaning,
  ]);
  return [
    '# Roles and rights',
    '',
    'Generated from `src/kernel/tenancy/rights.ts` by `npm run generate`; do not edit.',
    '',
    'The role comes from the token’s `role` claim, the API key or the session. Every right is about the caller’s own',
    'tenant, except `tenant.manage`, `connection.import` and `worker.cycle_all`. Without the right a request is',
    'answered 403 `forbidden`; things of another tenant are 404, as if they did not exist.',
    'Who signs in with a login provider has the role that `SLUICE_OIDC_ROLES` gives to their groups at that moment;',
    'nobody is an operator whom no pair of that setting makes one.',
    '',
    ...[
      header,
      header.map((_, index) => (index === 0 || index > roles.length ? '---' : ':-:')),
      ...lines,
    ].map((cells) => `| ${cells.join(' | ')} |`),
    '',
    `An admin may create API keys with the roles ${grantableRoles('admin').join(', ')}; an operator with any role.`,
    'A key never has more rights than the newest role of the user behind it, and none while that user is disabled.',
    'Only an operator can change a user who has used an operator token, or revoke a key of theirs.',
    '',
  ].join('\n');
}
