import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ChatRequest {
  model: string;
  messages: { role: string; content: string }[];
  response_format?: { type: string; json_schema: { schema: object } };
}

export interface ChatCall {
  request: ChatRequest;
  authorization: string | null;
}

/** A server that speaks OpenAI's chat completions, over real HTTP; a rule says what the model answers. */
export interface ChatServer {
  /** The base URL, with /v1. */
  readonly url: string;
  readonly calls: readonly ChatCall[];
  close(): Promise<void>;
}

export async function startChatServer(
  answer: (request: ChatRequest, before: number) => string | { status: number },
): Promise<ChatServer> {
  const calls: ChatCall[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const text of request.setEncoding('utf8')) body += text;
    if (request.method !== 'POST' || request.url !== '/v1/chat/completions') {
      response.writeHead(404).end('{"error": {"message": "no such endpoint"}}');
      return;
    }
    const asked = JSON.parse(body) as ChatRequest;
    const said = answer(asked, calls.length);
    calls.push({ request: asked, authorization: request.headers.authorization ?? null });
    const isText = typeof said === 'string';
    response.writeHead(isText ? 200 : said.status, { 'content-type': 'application/json' });
    const completion = {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      model: asked.model,
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: said } }],
      usage: { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 },
    };
    response.end(JSON.stringify(isText ? completion : { error: { message: 'try again' } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
