import type { FastifyRequest } from 'fastify';
import { itemErrors } from './errors.ts';

export interface FilePart {
  fileName: string | null;
  mediaType: string | null;
  content: AsyncIterable<Uint8Array>;
}

export interface ItemForm {
  processor: string;
  options: unknown;
  file: FilePart;
}

const maxFieldBytes = 256 * 1024;

/**
 * Reads the form up to its file: the fields come first, and the file is then read as it arrives, by whoever takes
 * `file.content`. Nothing of it is buffered.
 */
export async function readItemForm(
  request: FastifyRequest,
  limits: { maxFileBytes: number },
): Promise<ItemForm> {
  const fields = new Map<string, string>();
  const parts = request.parts({
    limits: { fields: 20, fieldSize: maxFieldBytes, files: 1, fileSize: limits.maxFileBytes, parts: 30 },
  });
  for await (const part of parts) {
    if (part.type === 'field') {
      fields.set(part.fieldname, String(part.value));
      continue;
    }
    if (part.fieldname !== 'file') {
      throw itemErrors.raise.form_invalid(
        `The part ${part.fieldname} has a file; only the part file may have one`,
      );
    }
    return {
      processor: fields.get('processor') ?? 'noop',
      options: parseOptions(fields.get('options')),
      file: {
        fileName: part.filename ? part.filename.slice(0, 500) : null,
        mediaType: part.mimetype || null,
        content: untilLimit(part.file),
      },
    };
  }
  throw itemErrors.raise.file_missing('The form has no part named file');
}

function parseOptions(text: string | undefined): unknown {
  if (text === undefined || text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    throw itemErrors.raise.form_invalid('The field options is not JSON', {
      fields: [{ pointer: '/options', message: 'must be JSON' }],
    });
  }
}

/** The parser stops at the limit and says so afterwards: then what was read is not the file. */
async function* untilLimit(
  file: AsyncIterable<Uint8Array> & { truncated?: boolean },
): AsyncGenerator<Uint8Array> {
  yield* file;
  if (file.truncated) throw itemErrors.raise.upload_too_large('The file is larger than is allowed');
}
