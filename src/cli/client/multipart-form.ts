import { randomUUID } from 'node:crypto';

export interface EncodedForm {
  contentType: string;
  content: AsyncGenerator<Uint8Array>;
}

export interface FormFile {
  fileName: string;
  content: AsyncIterable<Uint8Array>;
}

/** A form with one file, as the pieces that go over the wire; the fields come first, as the server wants them. */
export function encodeForm({ fields, ...file }: FormFile & { fields: Record<string, string> }): EncodedForm {
  return encode(fields, [file]);
}

/** A form with several files and nothing else. */
export function encodeFiles(files: readonly FormFile[]): EncodedForm {
  return encode({}, files);
}

function encode(fields: Record<string, string>, files: readonly FormFile[]): EncodedForm {
  const boundary = `sluice-${randomUUID()}`;
  async function* content(): AsyncGenerator<Uint8Array> {
    for (const [name, value] of Object.entries(fields)) {
      yield bytes(`--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`);
    }
    for (const file of files) {
      // No type is claimed: the server goes by the name and by what is inside.
      yield bytes(
        `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${quotable(file.fileName)}"\r\n` +
          'content-type: application/octet-stream\r\n\r\n',
      );
      yield* file.content;
      yield bytes('\r\n');
    }
    yield bytes(`--${boundary}--\r\n`);
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
