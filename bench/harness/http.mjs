// A minimal HTTP client: its own cost must not be measured.
import { createReadStream } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { request } from 'node:http';

/** Creates an items job from a CSV file; returns its id. */
export async function uploadCsv(serve, path) {
  const boundary = 'sluice-bench-boundary';
  const field = (name, value) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const head = [
    field('processor', 'noop'),
    field('options', '{}'),
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="rows.csv"\r\n`,
    'content-type: text/csv\r\n\r\n',
  ].join('');
  const tail = `\r\n--${boundary}--\r\n`;
  const { size } = await stat(path);
  const headers = {
    ...serve.headers,
    'content-type': `multipart/form-data; boundary=${boundary}`,
    'content-length': Buffer.byteLength(head) + size + Buffer.byteLength(tail),
  };
  const body = await send(`${serve.url}/api/jobs`, { headers, status: 201 }, (outgoing) => {
    outgoing.write(head);
    const file = createReadStream(path, { highWaterMark: 256 * 1024 });
    file.on('error', (error) => outgoing.destroy(error));
    file.on('end', () => outgoing.end(tail));
    file.pipe(outgoing, { end: false });
  });
  return JSON.parse(body.text).jobId;
}

/** Reads an export to its end and discards it; returns its size. */
export async function readExport(serve, { jobId, exportFormat }) {
  const url = `${serve.url}/api/jobs/${jobId}/export?format=${exportFormat}`;
  const { sizeBytes, lines } = await send(
    url,
    { headers: serve.headers, status: 200, drop: true },
    (outgoing) => outgoing.end(),
  );
  return { sizeBytes, lines };
}

/** Reads an export into a file. */
export async function saveExport(serve, { jobId, exportFormat, path }) {
  const url = `${serve.url}/api/jobs/${jobId}/export?format=${exportFormat}`;
  const answer = await fetch(url, { method: 'POST', headers: serve.headers });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  await writeFile(path, Buffer.from(await answer.arrayBuffer()));
}

function send(url, { headers, status, drop = false }, write) {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method: 'POST', headers }, (answer) => {
      const chunks = [];
      let sizeBytes = 0;
      let lines = 0;
      answer.on('data', (chunk) => {
        sizeBytes += chunk.length;
        if (drop && answer.statusCode === status) lines += countLines(chunk);
        else chunks.push(chunk);
      });
      answer.on('error', reject);
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        if (answer.statusCode === status) resolve({ text, sizeBytes, lines });
        else reject(new Error(`${url} answered ${answer.statusCode}: ${text}`));
      });
    });
    outgoing.on('error', reject);
    write(outgoing);
  });
}

function countLines(chunk) {
  let count = 0;
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) count += 1;
  return count;
}
