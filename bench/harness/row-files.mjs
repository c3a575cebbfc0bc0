// The same rows as a CSV for Sluice and as a COPY file for psql.

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { columns, inputOf, valuesOf } from './item-jobs.mjs';
import { tenantId, userId } from './sluice.mjs';

const linesAtOnce = 5_000;

export function writeCsv(path, count) {
  return writeLines(path, { count, head: `${columns.join(',')}\n`, lineOf: (n) => valuesOf(n).join(',') });
}

/** In the order of `copyColumns`. */
export function writeCopyFile(path, { count, jobId }) {
  const lineOf = (n) => [tenantId, jobId, n, userId, 'csv', inputOf(n)].join('\t');
  return writeLines(path, { count, head: '', lineOf });
}

export const copyColumns = 'tenant_id, job_id, row_no, user_id, job_type, input_json';

async function writeLines(path, { count, head, lineOf }) {
  const file = createWriteStream(path);
  file.write(head);
  for (let from = 1; from <= count; from += linesAtOnce) {
    const lines = [];
    for (let n = from; n < from + linesAtOnce && n <= count; n += 1) lines.push(lineOf(n));
    if (!file.write(`${lines.join('\n')}\n`)) await once(file, 'drain');
  }
  file.end();
  await finished(file);
}
