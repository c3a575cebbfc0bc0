// A report through the product: sent over HTTP, and done when its record says so.
import { openAsBlob } from 'node:fs';
import { until } from './children.mjs';

const waitLimitMs = 600_000;

/** The workspace that the tenant gets with its first request. */
export async function findWorkspace(serve) {
  const answer = await fetch(`${serve.url}/api/workspaces`, { headers: serve.headers });
  if (!answer.ok) throw new Error(`/api/workspaces answered ${answer.status}: ${await answer.text()}`);
  const [workspace] = (await answer.json()).data;
  if (!workspace) throw new Error('The tenant has no workspace');
  return workspace.workspace_id;
}

/** Resolves with the record once the upload has ended; anything but `completed` is an error. */
export async function uploadReport(serve, { path, workspaceId }) {
  const form = new FormData();
  for (const [name, value] of Object.entries({
    workspace_id: workspaceId,
    platform: 'meta',
    source: 'api',
  })) {
    form.set(name, value);
  }
  // Read from the disk while it is sent: the client holds no copy.
  form.set('file', await openAsBlob(path), 'report.csv');
  const sent = await fetch(`${serve.url}/api/uploads`, {
    method: 'POST',
    headers: serve.headers,
    body: form,
  });
  if (sent.status !== 201) throw new Error(`/api/uploads answered ${sent.status}: ${await sent.text()}`);
  const { upload_id: uploadId } = await sent.json();
  let record;
  const hasEnded = async () => {
    const answer = await fetch(`${serve.url}/api/uploads/${uploadId}`, { headers: serve.headers });
    if (!answer.ok) throw new Error(`/api/uploads/${uploadId} answered ${answer.status}`);
    record = await answer.json();
    return ['completed', 'partial', 'failed'].includes(record.status);
  };
  // Polling more often would take a seventh of the machine from what is measured.
  await until(`upload ${uploadId} has ended`, hasEnded, { everyMs: 250, limitMs: waitLimitMs });
  if (record.status !== 'completed') {
    throw new Error(`The upload is ${record.status}: ${record.error_text ?? 'some rows were refused'}`);
  }
  return record;
}
