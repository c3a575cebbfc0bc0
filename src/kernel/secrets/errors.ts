import { bug, defineErrors, invalid, notFound } from '../../lib/errors.ts';

export const secretErrors = defineErrors({
  secret_not_found: notFound(
    'There is no secret of this name',
    'Store it with PUT /api/secrets/{name}; GET /api/secrets lists the names.',
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
