import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { apiErrors } from '../errors.ts';
import { problemDocument, problemMediaType } from '../problem.ts';

/** Bytes that never became a request get a problem document too, written by hand: Fastify has no reply for them. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = problemOf(error.code);
  const { status } = problem.definition;
  const body = JSON.stringify(problemDocument(problem, { instance: '/', requestId: randomUUID() }));
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      `content-type: ${problemMediaType}`,
      `content-length: ${Buffer.byteLength(body)}`,
      'x-content-type-options: nosniff',
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}

function problemOf(code: string | undefined) {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return apiErrors.raise.headers_too_large('The headers of the request are larger than 16 KiB');
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return apiErrors.raise.request_timeout('The request was still incomplete at the time limit');
  }
  return apiErrors.raise.malformed_http('What arrived could not be read as an HTTP request');
}
