import { bug, defineErrors, forbidden, invalid, notFound } from '../../lib/errors.ts';

export const secretErrors = defineErrors({
  secret_not_found: notFound(
    'There is no secret of this name',
    'Store it with PUT /api/secrets/{name}; GET /api/secrets lists the names.',
  ),
  secret_not_allowed: forbidden(
    'You may not use this secret, or there is none of this name',
    'Choose one that GET /api/secrets lists, or ask an admin to mark the secret for your role.',
  ),
  secret_host_not_allowed: invalid(
    'A secret may not be sent to this host',
    'Use one of the hosts that the secret is stored for, or store it again with PUT /api/secrets/{name} and this host.',
  ),
  secret_use_not_allowed: invalid(
    'A secret may not be used for this',
    'Choose another secret, or ask an admin to change its uses with PATCH /api/secrets/{name}.',
  ),
  secret_without_hosts: invalid(
    'A secret is not bound to any host yet',
    'Ask an admin to store it again with PUT /api/secrets/{name} and the hosts that it may be sent to.',
  ),
  secret_key_malformed: invalid(
    'A key for stored secrets is malformed',
    'Give keys of 32 bytes as 64 hex digits or as base64, for example from `openssl rand -base64 32`.',
  ),
  secret_undecryptable: bug(
    'A stored secret cannot be decrypted',
    'Add the key that encrypted it to SLUICE_SECRET_KEY again, after the new one, or store the secret again.',
  ),
  secret_file_unusable: bug(
    'A secret of this installation cannot be read',
    'Make the file readable for the user that runs Sluice; remove it only if you can lose what it protects.',
  ),
});
