// The same rows by a cursor into the streaming writer of exceljs.
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import ExcelJS from 'exceljs';
import pg from 'pg';
import Cursor from 'pg-cursor';
import { settings, untilGo } from './protocol.mjs';

const { ownerUrl, jobId, columns, path } = settings;
const batchRows = 5_000;

const client = new pg.Client({ connectionString: ownerUrl });
await client.connect();
await untilGo();
const file = createWriteStream(path);
const workbook = new ExcelJS.stream.xlsx.WorkbookWriter({
  stream: file,
  useSharedStrings: false,
  useStyles: false,
});
const sheet = workbook.addWorksheet('Rows');
sheet.addRow(['row_no', 'status', ...columns]).commit();
const rows = await writeRows();
await workbook.commit();
await finished(file);
await client.end();
process.send({ is: 'handled', count: rows });
// Stays alive until the runner has read its memory from /proc.

async function writeRows() {
  const text = `select row_no, status, result_json::text as result from job_items where job_id = $1 order by id`;
  const cursor = client.query(new Cursor(text, [jobId]));
  let written = 0;
  for (;;) {
    const batch = await cursor.read(batchRows);
    for (const { row_no: rowNo, status, result } of batch) {
      const values = JSON.parse(result);
      sheet.addRow([rowNo, status, ...columns.map((name) => values[name])]).commit();
    }
    written += batch.length;
    if (batch.length < batchRows) return written;
  }
}
