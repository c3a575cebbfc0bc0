import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/** Below the range of ephemeral ports, so nothing gets one of these by chance. */
const apart = { from: 20_000, to: 30_000 };

/** Listens on a port that is still free when the server has been closed and wants it back. */
export async function listenApart(server: Server): Promise<number> {
  for (;;) {
    const port = randomInt(apart.from, apart.to);
    if (await listensOn(server, port)) return port;
  }
}

/** A port for another process, which opens it later. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  const port = await listenApart(probe);
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

function listensOn(server: Server, port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      server.off('listening', onListening);
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    };
    const onListening = () => {
      server.off('error', onError);
      resolve(true);
    };
    server.once('error', onError).once('listening', onListening);
    server.listen(port, '127.0.0.1');
  });
}
