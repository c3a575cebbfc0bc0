import { randomUUID } from 'node:crypto';

/** A form with one file, as the pieces that go over the wire; the fields come first, as the server wants them. */
export function encodeForm(form: {
  fields: Record<string, string>;
  fileName: string;
  content: AsyncIterable<Uint8Array>;
}): { contentType: string; content: AsyncGenerator<Uint8Array> } {
  const boundary = `sluice-${randomUUID()}`;
  async function* content(): AsyncGenerator<Uint8Array> {
    for (const [name, value] of Object.entries(form.fields)) {
      yield bytes(`--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`);
    }
    // No type is claimed: the server goes by the name and by what is inside.
    yield bytes(
      `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${quotable(form.fileName)}"\r\n` +
        'content-type: application/octet-stream\r\n\r\n',
    );
    yield* form.content;
    yield bytes(`\r\n--${boundary}--\r\n`);
  }
  return { contentType: `multipart/form-data; boundary=${boundary}`, content: content() };
}

/** As browsers do it: https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data */
function quotable(name: string): string {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}

function bytes(text: string): Uint8Array {
  return Buffer.from(text, 'utf8');
}
