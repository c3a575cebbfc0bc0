import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AdAccount } from './ad-account.ts';

export interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface Said {
  status?: number;
  headers?: Record<string, string>;
  body: unknown;
}

/** A platform's reporting API over real HTTP, on the books of one account. */
export interface ReportingServer {
  readonly url: string;
  readonly host: string;
  readonly account: AdAccount;
  readonly asked: readonly Asked[];
  /** Answers like this instead, once for each. */
  answerNext(...answers: (Said | 'hang up')[]): void;
  close(): Promise<void>;
}

/** `answer` refuses what the platform would refuse: the fake is a judge of requests, too. */
export async function startReporting(
  account: AdAccount,
  answer: (asked: Asked, account: AdAccount) => Said,
): Promise<ReportingServer> {
  const asked: Asked[] = [];
  const planned: (Said | 'hang up')[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const text of request.setEncoding('utf8')) body += text;
    const url = new URL(request.url ?? '/', 'http://fake');
    const call: Asked = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body,
    };
    asked.push(call);
    const said = planned.shift() ?? answer(call, account);
    if (said === 'hang up') {
      request.socket.destroy();
      return;
    }
    response.writeHead(said.status ?? 200, { 'content-type': 'application/json', ...said.headers });
    response.end(typeof said.body === 'string' ? said.body : JSON.stringify(said.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    account,
    asked,
    answerNext: (...answers) => void planned.push(...answers),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
