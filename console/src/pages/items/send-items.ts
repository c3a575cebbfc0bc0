import { ApiProblem } from '../../api/client.ts';

export interface NewItems {
  file: File;
  processor: string;
  /** JSON text, as it is sent. */
  options: string;
}

interface Sending {
  onProgress: (sentBytes: number) => void;
  signal: AbortSignal;
  /** The same for every try of one file, so that a try whose answer was lost makes no second job. */
  idempotencyKey: string;
}

/** By XMLHttpRequest, because fetch does not tell how much was sent. Fields go before the file. */
export function sendItems(items: NewItems, sending: Sending): Promise<{ jobId: string }> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', '/api/jobs');
    request.setRequestHeader('accept', 'application/json');
    request.setRequestHeader('idempotency-key', sending.idempotencyKey);
    request.upload.onprogress = (event) => sending.onProgress(event.loaded);
    request.onload = () => {
      const answer = answerOf(request.responseText);
      if (request.status === 201) resolve(answer as { jobId: string });
      else reject(new ApiProblem(request.status, answer));
    };
    request.onerror = () => reject(brokenOff());
    request.onabort = () => reject(new DOMException('The upload was stopped', 'AbortError'));
    sending.signal.addEventListener('abort', () => request.abort(), { once: true });
    const form = new FormData();
    form.set('processor', items.processor);
    form.set('options', items.options);
    form.set('file', items.file, items.file.name);
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

function brokenOff(): ApiProblem {
  return new ApiProblem(0, {
    code: 'unreachable',
    title: 'The upload was broken off',
    detail:
      'The server cannot be reached, or broke the upload off because the file is larger than it takes. No row was ' +
      'kept; try again.',
  });
}
