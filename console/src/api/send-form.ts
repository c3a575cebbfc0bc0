import { ApiProblem } from './client.ts';

export interface Sending {
  onProgress: (sentBytes: number) => void;
  signal: AbortSignal;
  /** The same for every try of one file, so a retry after a lost response creates nothing twice. */
  idempotencyKey: string;
}

interface NewThing {
  method?: 'POST' | 'PUT';
  path: string;
  form: FormData;
  /** The message when the connection ends without a response. */
  brokenOff: string;
}

/** Uses XMLHttpRequest because fetch does not report how much was sent. */
export function sendForm<Made>(thing: NewThing, sending: Sending): Promise<Made> {
  const { method = 'POST', path, form, brokenOff } = thing;
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, path);
    request.setRequestHeader('accept', 'application/json');
    request.setRequestHeader('idempotency-key', sending.idempotencyKey);
    request.upload.onprogress = (event) => sending.onProgress(event.loaded);
    request.onload = () => {
      const answer = answerOf(request.responseText);
      if (request.status === 200 || request.status === 201) resolve(answer as Made);
      else reject(new ApiProblem(request.status, answer));
    };
    request.onerror = () =>
      reject(
        new ApiProblem(0, { code: 'unreachable', title: 'The upload was interrupted', detail: brokenOff }),
      );
    request.onabort = () => reject(new DOMException('The upload was stopped', 'AbortError'));
    sending.signal.addEventListener('abort', () => request.abort(), { once: true });
    request.send(form);
  });
}

function answerOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { detail: text.slice(0, 300) };
  }
}
