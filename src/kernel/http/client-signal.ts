import type { FastifyReply } from 'fastify';
import { defineErrors, invalid } from '../../lib/errors.ts';

export const clientErrors = defineErrors({
  client_gone: invalid(
    'The client closed the connection before the response',
    'Nobody sees this response; it is counted in metrics and logs. Wait longer for the response.',
    499,
  ),
});

/** Aborts when the client has gone: nobody waits for the work any more. */
export function clientSignal({ raw }: Pick<FastifyReply, 'raw'>): AbortSignal {
  const gone = new AbortController();
  // Also after a complete response; then the work is over.
  const giveUp = () => gone.abort(clientErrors.raise.client_gone('The client closed the connection'));
  if (raw.destroyed) giveUp();
  else raw.once('close', giveUp);
  return gone.signal;
}
