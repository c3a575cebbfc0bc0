import { defineErrors, forbidden, invalid, notFound, transient } from '../../../../lib/errors.ts';

/** Why a Git repository could not be read. */
export const gitErrors = defineErrors({
  git_repository_not_found: notFound(
    'There is no such Git repository, branch or tag',
    'Check url and ref of the source. Private repositories often look as if they did not exist: give a token_secret.',
  ),
  git_unauthorized: forbidden(
    'The Git server does not accept the token',
    'Store a token that may read the repository under the name in token_secret with PUT /api/secrets/{name}.',
  ),
  git_protocol_unknown: invalid(
    'The address is no Git repository over HTTP, or its server is too old',
    'Use the address that `git clone https://…` takes; the server must speak protocol 2 (Git 2.18 or newer).',
  ),
  git_repository_too_large: invalid(
    'The Git repository is too large',
    'Keep its large files elsewhere, or read a working copy with a source of type folder.',
  ),
  git_pack_broken: transient(
    'What the Git server sent is broken',
    'Nothing to do: the next run reads it again.',
  ),
  git_server_failed: transient(
    'The Git server failed or could not be reached',
    'Nothing to do: it is tried again. Check the address if it lasts.',
  ),
});
