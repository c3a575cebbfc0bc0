import { defineErrors } from '../../lib/errors.ts';

export const secretErrors = defineErrors({
  secret_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no secret of this name',
    next: 'Store it with PUT /api/secrets/{name}; GET /api/secrets lists the names.',
  },
  secret_key_malformed: {
    kind: 'invalid',
    status: 422,
    title: 'A key for stored secrets is malformed',
    next: 'Give keys of 32 bytes as 64 hex digits or as base64, for example from `openssl rand -base64 32`.',
  },
  secret_undecryptable: {
    kind: 'bug',
    status: 500,
    title: 'A stored secret cannot be decrypted',
    next: 'Put the key that encrypted it back into SLUICE_SECRET_KEY (behind the new one), or store the secret again.',
  },
  secret_file_unusable: {
    kind: 'bug',
    status: 500,
    title: 'A secret of this installation cannot be read',
    next: 'Make the file readable for the user that runs Sluice; remove it only if losing what it protects is fine.',
  },
});
