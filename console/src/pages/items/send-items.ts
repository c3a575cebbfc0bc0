import { type Sending, sendForm } from '../../api/send-form.ts';

export interface NewItems {
  file: File;
  processor: string;
  /** JSON text, as it is sent. */
  options: string;
}

/** Fields go before the file. */
export function sendItems(items: NewItems, sending: Sending): Promise<{ jobId: string }> {
  const form = new FormData();
  form.set('processor', items.processor);
  form.set('options', items.options);
  form.set('file', items.file, items.file.name);
  const brokenOff =
    'The server cannot be reached, or broke the upload off because the file is larger than it takes. No row was ' +
    'kept; try again.';
  return sendForm({ path: '/api/jobs', form, brokenOff }, sending);
}
