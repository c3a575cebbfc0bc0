/**
 * Enough to tell neighbours apart, and so few that most edits of a sentence come after them. With 24 instead of 8,
 * twice as many edits in rows of short paragraphs made more than two new chunks.
 */
const unitsLookedAt = 8;
/** Skips the markup of lists, quotes and tables, which is the same everywhere. */
const maxMarkUnits = 8;

/**
 * Says how well a place is suited for a cut, computed only from the text that follows it. Cutting at the highest rank
 * within reach gives the same places again when the text before them grows or shrinks, so an edit stays local.
 */
export function cutRank(text: string, at: number): number {
  let start = at;
  while (start < at + maxMarkUnits && isMark(text.charCodeAt(start))) start += 1;
  return rankOf(text, start, Math.min(text.length, start + unitsLookedAt));
}

/** The same for the few units before a place, for texts without words. */
export function anchorRank(text: string, at: number): number {
  return rankOf(text, Math.max(0, at - 4), at);
}

/** FNV-1a with the finalizer of MurmurHash: similar inputs of FNV-1a alone differ in few bits. */
function rankOf(text: string, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** An ASCII character that is neither letter nor digit. */
function isMark(unit: number): boolean {
  return (
    unit < 0x30 ||
    (unit > 0x39 && unit < 0x41) ||
    (unit > 0x5a && unit < 0x61) ||
    (unit > 0x7a && unit < 0x80)
  );
}
