import { defineErrors, forbidden, notFound, transient, unauthenticated } from '../../../lib/errors.ts';

export const oidcErrors = defineErrors({
  oidc_not_configured: notFound(
    'Sign-in with a login provider is not set up',
    'Log in with a link or a token. The operator sets SLUICE_OIDC_ISSUER, SLUICE_OIDC_CLIENT_ID and ' +
      'SLUICE_OIDC_ROLES; docs/deploying.md shows how.',
  ),
  oidc_provider_unavailable: transient(
    'The login provider cannot be reached',
    'Try again in a minute, or log in with a link (`sluice login`). The operator checks SLUICE_OIDC_ISSUER and the ' +
      'provider.',
  ),
  oidc_provider_refused: unauthenticated(
    'The login provider refused the sign-in',
    'Start the sign-in again. If that does not help, ask whoever runs the provider: the application and its secret ' +
      'must be registered there with this server’s address.',
  ),
  oidc_sign_in_expired: unauthenticated(
    'The sign-in cannot be completed',
    'It was started in another browser, was completed before, or took longer than ten minutes. Start it again.',
  ),
  oidc_response_invalid: unauthenticated(
    'The login provider’s response is not trusted',
    'Start the sign-in again. If that does not help, the operator compares SLUICE_OIDC_ISSUER and ' +
      'SLUICE_OIDC_CLIENT_ID with the provider.',
  ),
  oidc_claims_unusable: unauthenticated(
    'The login provider did not say who you are',
    'The operator makes the provider send the claims sub and, where SLUICE_OIDC_TENANT names a claim, that one.',
  ),
  oidc_role_missing: forbidden(
    'You have no role here',
    'Ask for membership in one of the groups that SLUICE_OIDC_ROLES names, then sign in again.',
  ),
});
