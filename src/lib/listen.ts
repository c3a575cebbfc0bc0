import { conflict, defineErrors, messageOf } from './errors.ts';

export const listenErrors = defineErrors({
  port_unavailable: conflict(
    'The server cannot listen on its port',
    'Stop the program that uses the port, or choose another one with --port or PORT (0 takes any free one).',
    503,
  ),
});

interface Listener {
  listen(options: { port: number; host: string }): Promise<string>;
}

const portsToTry = 100;

/** An explicit port is used or fails; the default one may move to the next free port. */
export async function listenOn(
  listener: Listener,
  { host, port, isExplicit }: { host: string; port: number; isExplicit: boolean },
): Promise<void> {
  const last = isExplicit ? port : Math.min(65_535, port + portsToTry - 1);
  for (let candidate = port; ; candidate += 1) {
    try {
      await listener.listen({ port: candidate, host });
      return;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EADDRINUSE' && candidate < last) continue;
      throw listenErrors.raise.port_unavailable(explain({ code, host, port, last, isExplicit, error }), {
        cause: error,
      });
    }
  }
}

function explain(what: {
  code: string | undefined;
  host: string;
  port: number;
  last: number;
  isExplicit: boolean;
  error: unknown;
}): string {
  const { code, host, port, last } = what;
  if (code === 'EADDRINUSE') {
    return what.isExplicit
      ? `Port ${port} on ${host} is taken by another program`
      : `All ports from ${port} to ${last} on ${host} are taken`;
  }
  if (code === 'EACCES')
    return `Port ${port} on ${host} may not be opened by this user; ports below 1024 are privileged`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `${host} is not an address of this machine`;
  return `Port ${port} on ${host} cannot be opened: ${messageOf(what.error)}`;
}
