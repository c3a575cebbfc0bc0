/** A construct that no engine without backtracking has, or that this one lacks. */
export class Unsupported extends Error {
  constructor(what: string, { text, at }: { text: string; at: number }) {
    super(`has ${what} ${text} at position ${at + 1}, which is not supported`);
  }
}
