/** What a job will be made of, judged by names and types; the server checks the bytes. */
export type FilesKind = 'rows' | 'images' | 'mixed';

interface NamedFile {
  name: string;
  type: string;
}

const imageName = /\.(jpe?g|jpe|jfif|png|gif|webp|tiff?|avif|heic|heif|bmp|svg)$/i;

export function kindOfFiles(files: readonly NamedFile[]): FilesKind {
  if (files.length > 0 && files.every(isImage)) return 'images';
  if (files.length > 1) return 'mixed';
  return files.some(isArchive) ? 'images' : 'rows';
}

function isImage({ name, type }: NamedFile): boolean {
  return type.startsWith('image/') || imageName.test(name);
}

function isArchive({ name }: NamedFile): boolean {
  return /\.zip$/i.test(name);
}

/** A sheet can be chosen for a workbook; the server recognises workbooks by the same endings. */
export function isWorkbook({ name }: NamedFile): boolean {
  return /\.xls[xm]$/i.test(name);
}

/** What an item of an image job knows about its image. */
export const imageColumns = ['name', 'size', 'sha256', 'fileId', 'order'];

/** The accept list of the file dialog; the server refuses other dropped files. */
export const acceptedFiles = [
  '.csv,.tsv,.tab,.txt,.json,.ndjson,.jsonl,.xlsx,text/csv,application/json',
  '.zip,.jpg,.jpeg,.png,.gif,.webp,.tif,.tiff,.avif,image/*',
].join();
