import { secretText, text, urlOf } from '../../../lib/settings/setting-kinds.ts';
import { type SettingsCheck, type SettingValues, setting } from '../../../lib/settings/settings.ts';
import { isPlainId } from '../types.ts';
import { parseRoleMapping, roleMappingForm } from './role-mapping.ts';

const claimPrefix = 'claim:';

const issuerUrl = urlOf({ schemes: ['https', 'http'], example: 'https://login.example.com/realms/staff' });

export const oidcSettings = {
  oidcIssuer: setting(
    'SLUICE_OIDC_ISSUER',
    {
      schema: issuerUrl.schema.refine((value) => isSafe(new URL(value))),
      allowed: `${issuerUrl.allowed}; http only on this machine`,
    },
    { describe: 'The OpenID Connect provider that people may sign in with. Unset: none.' },
  ),
  oidcClientId: setting('SLUICE_OIDC_CLIENT_ID', text({ max: 500 }), {
    describe: 'What the provider calls this server.',
  }),
  oidcClientSecret: setting('SLUICE_OIDC_CLIENT_SECRET', secretText({ minBytes: 8 }), {
    secret: 'whole',
    describe: 'The secret of that client. Unset: a public client, which only PKCE protects.',
  }),
  oidcRoles: setting(
    'SLUICE_OIDC_ROLES',
    {
      schema: text({ max: 20_000 }).schema.refine((value) => parseRoleMapping(value) !== null),
      allowed: roleMappingForm,
    },
    {
      describe:
        'Which group of the provider has which role; the first pair that fits counts. Nobody else gets in, and ' +
        'nobody is an operator whom no pair makes one.',
    },
  ),
  oidcTenant: setting(
    'SLUICE_OIDC_TENANT',
    {
      schema: text({ max: 200 }).schema.refine(
        (value) => isPlainId(value) && value.replace(claimPrefix, '').trim() !== '',
      ),
      allowed: 'the id of a tenant, or `claim:` and the name of a claim that holds it',
    },
    {
      default: 'default',
      describe:
        'The tenant of everybody who signs in, or `claim:NAME`. A tenant that is new is created, as with tokens.',
    },
  ),
  oidcGroupsClaim: setting('SLUICE_OIDC_GROUPS_CLAIM', text({ max: 200 }), {
    default: 'groups',
    describe:
      'The claim that lists a person’s groups, in the ID token or the provider’s user info; dots lead into objects ' +
      '(`realm_access.roles`).',
  }),
  oidcScopes: setting(
    'SLUICE_OIDC_SCOPES',
    {
      schema: text({ max: 500 }).schema.refine((value) => value.split(/\s+/).includes('openid')),
      allowed: 'names separated by spaces, openid among them',
    },
    {
      default: 'openid profile email',
      describe: 'What is asked of the provider; some send groups only for a scope of that name.',
    },
  ),
  oidcName: setting('SLUICE_OIDC_NAME', text({ max: 60 }), {
    default: {
      text: 'the host of `SLUICE_OIDC_ISSUER`',
      from: (values) => (values.oidcIssuer ? new URL(String(values.oidcIssuer)).host : ''),
    },
    describe: 'What the button on the login page calls the provider: “Sign in with …”.',
  }),
};

export type OidcConfig = SettingValues<typeof oidcSettings>;

export const oidcChecks: SettingsCheck<OidcConfig>[] = [
  ({ oidcIssuer, oidcClientId, oidcRoles }) => {
    const given = {
      SLUICE_OIDC_ISSUER: oidcIssuer,
      SLUICE_OIDC_CLIENT_ID: oidcClientId,
      SLUICE_OIDC_ROLES: oidcRoles,
    };
    const missing = Object.entries(given).flatMap(([name, value]) => (value === null ? [name] : []));
    if (missing.length === 0 || missing.length === Object.keys(given).length) return null;
    return (
      `${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} not set. Allowed: all of ` +
      `${Object.keys(given).join(', ')}, or none of them.`
    );
  },
];

/** The claim that names the tenant; null when one tenant is fixed. */
export function tenantClaimOf(tenant: string): string | null {
  return tenant.startsWith(claimPrefix) ? tenant.slice(claimPrefix.length).trim() : null;
}

/** The code and the client's secret go there: in clear text only where nobody listens. */
export function isSafe({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}
