// One tenant that sends as much as it can: searches, files of rows, workbooks and live streams, each with many keys.
import { readFile } from 'node:fs/promises';
import { get } from 'node:http';
import { settings, untilGo } from './protocol.mjs';

const { url, tokens, kbId, csvPath, xlsxPath } = settings;
const searchers = 40;
const uploaders = 8;
const streams = 200;

const csv = await readFile(csvPath);
const xlsx = await readFile(xlsxPath);
let lastToken = 0;
await untilGo();
for (let n = 0; n < searchers; n += 1) void forever(search);
for (let n = 0; n < uploaders; n += 1) {
  void forever(() => upload('rows.csv', csv));
  void forever(() => upload('rows.xlsx', xlsx));
}
for (let n = 0; n < streams; n += 1) openStream();

/** Limits count per key too: a greedy tenant has many. */
function headers() {
  lastToken = (lastToken + 1) % tokens.length;
  return { authorization: `Bearer ${tokens[lastToken]}` };
}

/** As fast as it is let: a refusal is followed by the next request, whatever Retry-After says. */
async function forever(send) {
  for (;;) {
    const status = await send().catch(() => 0);
    process.send({ is: 'answer', what: send.name || 'upload', status });
    if (status !== 200 && status !== 201) await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function search() {
  const answer = await fetch(`${url}/api/knowledge/${kbId}/search`, {
    method: 'POST',
    headers: { ...headers(), 'content-type': 'application/json' },
    body: JSON.stringify({ query: `Which volume has note ${Math.ceil(Math.random() * 6)}?`, limit: 50 }),
  });
  await answer.arrayBuffer();
  return answer.status;
}

async function upload(name, content) {
  const form = new FormData();
  form.set('processor', 'noop');
  form.set('file', new Blob([content]), name);
  const answer = await fetch(`${url}/api/jobs`, { method: 'POST', headers: headers(), body: form });
  await answer.arrayBuffer();
  return answer.status;
}

function openStream() {
  const again = () => setTimeout(openStream, 1_000);
  get(`${url}/api/events/stream`, { headers: headers() }, (answer) => {
    answer
      .resume()
      .on('close', again)
      .on('error', () => {});
  }).on('error', again);
}
