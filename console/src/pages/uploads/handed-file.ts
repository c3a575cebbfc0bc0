/** A file that was dropped on the list, on its way to the page that uploads it: files cannot travel in a link. */
let handed: File | null = null;

export function handOver(file: File): void {
  handed = file;
}

/** The file stays until it is taken. */
export function handedFile(): File | null {
  return handed;
}

export function forgetHanded(): void {
  handed = null;
}
