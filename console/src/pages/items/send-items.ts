import { type Sending, sendForm } from '../../api/send-form.ts';

export interface NewItems {
  files: readonly File[];
  processor: string;
  /** JSON text, as it is sent. */
  options: string;
  /** Of a workbook; empty: the server chooses. */
  sheet: string;
}

/** Fields go before the files, which keep their order. */
export function sendItems(items: NewItems, sending: Sending): Promise<{ jobId: string }> {
  const form = new FormData();
  form.set('processor', items.processor);
  form.set('options', items.options);
  if (items.sheet !== '') form.set('sheet', items.sheet);
  for (const file of items.files) form.append('file', file, file.name);
  const brokenOff =
    'The server cannot be reached, or ended the upload because the file is larger than allowed. No row was ' +
    'stored; try again.';
  return sendForm({ path: '/api/jobs', form, brokenOff }, sending);
}
