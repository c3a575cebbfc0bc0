/** 0x80 to 0x9F, where Windows-1252 differs from Latin-1; its five undefined bytes stay as they are. */
const windows1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

/** Not with TextDecoder, because some releases of Node decode windows-1252 as Latin-1. */
export function decodeWindows1252(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replace(/[\u0080-\u009f]/g, (character) => windows1252.charAt(character.charCodeAt(0) - 0x80));
}
