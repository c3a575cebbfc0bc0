/** What a job is to be made of, as far as names and types tell; the server looks at the bytes. */
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

/** Of a workbook a sheet can be chosen; the server knows these by the same endings. */
export function isWorkbook({ name }: NamedFile): boolean {
  return /\.xls[xm]$/i.test(name);
}

/** What an item of an image job is told of its image. */
export const imageColumns = ['name', 'size', 'sha256', 'fileId', 'order'];

/** One accept list for the file dialog; whatever else is dropped is for the server to refuse. */
export const acceptedFiles = [
  '.csv,.tsv,.tab,.txt,.json,.ndjson,.jsonl,.xlsx,text/csv,application/json',
  '.zip,.jpg,.jpeg,.png,.gif,.webp,.tif,.tiff,.avif,image/*',
].join();
