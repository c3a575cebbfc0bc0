import { spawn } from 'node:child_process';
import type { SharpOptions } from 'sharp';
import { messageOf } from '../../../../lib/errors.ts';
import { documentErrors } from '../errors.ts';
import type { ConvertOptions } from '../types.ts';

/** A program that is called as `tesseract stdin stdout -l LANGUAGES` and reads an image. */
export interface OcrSettings {
  command: string;
  /** Such as `eng+deu`, each installed. */
  languages: string;
}

const searchedFolders = '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin';
const pageMs = 60_000;
const reportEveryMs = 2_000;
const maxTextBytes = 4 * 1024 * 1024;
const maxPixels = 100_000_000;
/** Larger pictures are not read better, only slower. */
const longestSide = 4_000;

export interface Recognition extends Pick<ConvertOptions, 'onProgress'> {
  ocr: OcrSettings | null;
  /** For pixels without a format. */
  raw?: NonNullable<SharpOptions['raw']>;
}

/** The text of an image, which may be a file or raw pixels. Throws `document_needs_ocr` if there is no program. */
export async function recognise(
  image: Buffer | Uint8ClampedArray,
  { ocr, raw, onProgress }: Recognition,
): Promise<string> {
  if (ocr === null) throw needsOcr('no program for text recognition is set (KNOWLEDGE_OCR_COMMAND)');
  const png = await normalise(image, raw);
  onProgress({ isRecognising: true });
  const report = setInterval(() => onProgress({ isRecognising: true }), reportEveryMs);
  try {
    return await run(ocr, png);
  } finally {
    clearInterval(report);
  }
}

/** The program gets what our own decoder has made, and never a file of a stranger. */
async function normalise(
  image: Buffer | Uint8ClampedArray,
  raw: NonNullable<SharpOptions['raw']> | undefined,
): Promise<Buffer> {
  const { default: sharp } = await import('sharp');
  try {
    return await sharp(image, { limitInputPixels: maxPixels, ...(raw ? { raw } : {}) })
      .rotate()
      .resize({ width: longestSide, height: longestSide, fit: 'inside', withoutEnlargement: true })
      .flatten({ background: 'white' })
      .grayscale()
      .png({ compressionLevel: 1 })
      .toBuffer();
  } catch (error) {
    throw documentErrors.raise.document_is_broken(`The image cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function run({ command, languages }: OcrSettings, png: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, ['stdin', 'stdout', '-l', languages], {
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: pageMs,
      killSignal: 'SIGKILL',
      // One thread for one page; the program needs nothing else of the server.
      env: { PATH: searchedFolders, OMP_THREAD_LIMIT: '1' },
    });
    const pieces: Buffer[] = [];
    let complaint = '';
    let bytes = 0;
    child.stdout.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes > maxTextBytes) child.kill('SIGKILL');
      else pieces.push(piece);
    });
    child.stderr.on('data', (piece: Buffer) => {
      complaint = `${complaint}${piece}`.slice(-500);
    });
    child.stdin.on('error', () => {});
    child.on('error', ({ code }: NodeJS.ErrnoException) =>
      reject(needsOcr(`the program ${JSON.stringify(command)} cannot be started (${code ?? 'unknown'})`)),
    );
    child.on('close', (code, signal) => {
      if (code === 0) resolve(Buffer.concat(pieces).toString('utf8').replaceAll('\f', '\n').trim());
      else reject(failure(signal === null ? complaint : `it took more than ${pageMs / 1_000} s`));
    });
    child.stdin.end(png);
  });
}

function needsOcr(why: string): Error {
  return documentErrors.raise.document_needs_ocr(
    `The document has no text of its own, only images, and ${why}`,
  );
}

function failure(complaint: string): Error {
  const line = complaint.replace(/\s+/g, ' ').trim().slice(0, 300);
  return documentErrors.raise.document_ocr_failed(`Text recognition failed: ${line}`);
}
