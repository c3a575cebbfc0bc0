import { type Sending, sendForm } from '../../api/send-form.ts';

export interface NewItems {
  files: readonly File[];
  processor: string;
  /** JSON text, as it is sent. */
  options: string;
  /** Of a workbook; empty: the server chooses. */
  sheet: string;
  /** JSON text; null: all columns as in the file. */
  mapping: string | null;
}

export function sendItems(items: NewItems, sending: Sending): Promise<{ jobId: string }> {
  const form = formOf(items);
  const brokenOff =
    'The server cannot be reached, or ended the upload because the file is larger than allowed. No row was ' +
    'stored; try again.';
  return sendForm({ path: '/api/jobs', form, brokenOff }, sending);
}

/** Fields go before the files, which keep their order. */
export function formOf(items: NewItems): FormData {
  const form = new FormData();
  form.set('processor', items.processor);
  form.set('options', items.options);
  if (items.sheet !== '') form.set('sheet', items.sheet);
  if (items.mapping !== null) form.set('mapping', items.mapping);
  for (const file of items.files) form.append('file', file, file.name);
  return form;
}
