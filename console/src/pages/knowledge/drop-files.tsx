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
  const send = useAction({
    run: (files: readonly File[]) => sendFiles(kbId, files),
    done: (sent) => `Added ${plural(sent, 'file')}. The next run indexes them.`,
    touches: ['knowledge'],
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
      <p>Drop Markdown, text, HTML, PDF, DOCX, VTT or SRT files here.</p>
      <FileButton multiple onChange={(files) => (files.length > 0 ? send.run(files) : undefined)}>
        {(props) => (
          <Button {...props} variant="default" loading={send.isRunning}>
            Choose files
          </Button>
        )}
      </FileButton>
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
