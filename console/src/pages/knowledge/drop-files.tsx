import { Button, FileButton } from '@mantine/core';
import { type DragEvent, useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction } from '../../parts/action.ts';
import { plural } from '../../parts/number.ts';

/** The server refuses more files than this in one request; the rest follow in further requests. */
const filesPerRequest = 50;

/** Files are sent as soon as they are dropped; a file of a known name replaces the earlier one. */
export function DropFiles({ kbId }: { kbId: string }) {
  const [isOver, setOver] = useState(false);
  const [waiting, setWaiting] = useState(0);
  const send = useAction({
    run: (files: readonly File[]) => sendFiles(kbId, files),
    done: (sent) => {
      setWaiting((before) => before + sent);
      return `Added ${plural(sent, 'file')}. The next run indexes them.`;
    },
    touches: ['knowledge'],
  });
  const start = useAction({
    run: async () => {
      await api.post('/api/ingestion/jobs/{id}/start', { path: { id: kbId } });
    },
    done: () => {
      setWaiting(0);
      return 'The run has started.';
    },
    touches: ['knowledge', 'jobs'],
  });
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    if (event.dataTransfer.files.length > 0) send.run([...event.dataTransfer.files]);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button inside does the same for those who do not drag
    <div
      className="kb-drop"
      data-over={isOver || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <p>Drop documents here: Markdown, text, HTML, PDF, Office files, e-mails, images of pages.</p>
      <FileButton multiple onChange={(files) => (files.length > 0 ? send.run(files) : undefined)}>
        {(props) => (
          <Button {...props} variant="default" loading={send.isRunning}>
            Choose files
          </Button>
        )}
      </FileButton>
      {waiting === 0 ? null : (
        <p className="row" role="status">
          {plural(waiting, 'file')} {waiting === 1 ? 'waits' : 'wait'} for a run.
          <Button size="compact-sm" onClick={() => start.run()} loading={start.isRunning}>
            Run now
          </Button>
        </p>
      )}
    </div>
  );
}

export async function sendFiles(kbId: string, files: readonly File[]): Promise<number> {
  let sent = 0;
  for (let from = 0; from < files.length; from += filesPerRequest) {
    const form = new FormData();
    for (const file of files.slice(from, from + filesPerRequest)) form.append('file', file, file.name);
    const { files: added } = await api.post('/api/knowledge/{kb_id}/documents', {
      path: { kb_id: kbId },
      form,
    });
    sent += added.length;
  }
  return sent;
}
