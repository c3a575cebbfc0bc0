import { decodeText } from './decode-text.ts';
import { documentErrors } from './errors.ts';
import type { Converted, ConvertOptions } from './types.ts';

/** Reads caption files: drops times, joins cues to running text, keeps speakers. */
export function readCaptions(bytes: Buffer, { charset, limits }: ConvertOptions): Converted {
  const notes: string[] = [];
  const text = captionsToText(decodeText(bytes, { declared: charset, notes }));
  if (text.length > limits.maxTextUnits) {
    throw documentErrors.raise.document_too_large(
      `The captions have more than ${limits.maxTextUnits} characters, which is the limit`,
    );
  }
  return { title: null, text, notes };
}

/** A pause of this length starts a new paragraph. */
const pauseSeconds = 3;

/** A longer paragraph ends with the next sentence: speech changes its subject without a heading. */
const paragraphUnits = 200;

/** VTT and SRT differ only in what surrounds a cue. */
function captionsToText(captions: string): string {
  const paragraphs = new Paragraphs();
  for (const cue of cuesOf(captions)) paragraphs.add(cue);
  return paragraphs.text();
}

interface Cue {
  startSeconds: number;
  endSeconds: number;
  lines: string[];
}

const timing = /^\s*((?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3})\s*-->\s*((?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3})/;

/** Lines outside of cues are headers, comments, styles or numbers, and are skipped. */
function* cuesOf(captions: string): Generator<Cue> {
  let cue: Cue | null = null;
  for (const line of linesOf(captions)) {
    const times = line.length < 500 ? timing.exec(line) : null;
    if (times !== null) {
      if (cue !== null) yield withoutNumber(cue);
      cue = { startSeconds: secondsOf(times[1] ?? ''), endSeconds: secondsOf(times[2] ?? ''), lines: [] };
    } else if (line.trim() === '') {
      if (cue !== null) yield cue;
      cue = null;
    } else {
      cue?.lines.push(line);
    }
  }
  if (cue !== null) yield cue;
}

/** Some programs omit the blank line before the next number. */
function withoutNumber(cue: Cue): Cue {
  return /^\d+$/.test(cue.lines.at(-1)?.trim() ?? '') ? { ...cue, lines: cue.lines.slice(0, -1) } : cue;
}

function* linesOf(text: string): Generator<string> {
  for (let from = 0; from <= text.length; ) {
    const next = text.indexOf('\n', from);
    const to = next < 0 ? text.length : next;
    yield text.slice(from, to).replace(/\r/g, '');
    from = to + 1;
  }
}

function secondsOf(time: string): number {
  return time
    .replace(',', '.')
    .split(':')
    .reduce((sum, part) => sum * 60 + Number(part), 0);
}

class Paragraphs {
  readonly #done: string[] = [];
  #current = '';
  #speaker: string | null = null;
  #lastLine = '';
  #endedAt = 0;

  add(cue: Cue): void {
    if (cue.startSeconds - this.#endedAt >= pauseSeconds) this.#end();
    this.#endedAt = cue.endSeconds;
    for (const line of cue.lines) this.#addLine(line);
  }

  text(): string {
    this.#end();
    return this.#done.join('\n\n');
  }

  #addLine(line: string): void {
    const { speaker, words } = readLine(line);
    // Rolling captions show each line twice: at the bottom, then above the next line.
    if (words === '' || words === this.#lastLine) return;
    this.#lastLine = words;
    if (speaker !== null && speaker !== this.#speaker) {
      this.#end();
      this.#speaker = speaker;
      this.#current = `${speaker}:`;
    }
    this.#current = this.#current === '' ? words : `${this.#current} ${words}`;
    if (this.#current.length > paragraphUnits && /[.!?…。！？]["'”’)]*$/.test(words)) this.#end();
  }

  #end(): void {
    if (this.#current !== '') this.#done.push(this.#current);
    this.#current = '';
  }
}

function readLine(line: string): { speaker: string | null; words: string } {
  const voice = /<v(?:\.[^\s>]{0,100})?\s{1,10}([^>]{1,200})>/.exec(line);
  const words = line
    .replace(/<\/?[A-Za-z0-9][^<>]{0,200}>|\{\\[^{}]{0,200}\}/g, '')
    .replace(/&(amp|lt|gt|nbsp|lrm|rlm|quot|#39);/g, (_, name: string) => entities[name] ?? '')
    .replace(/\s+/g, ' ')
    .trim();
  return { speaker: voice?.[1]?.trim() ?? null, words };
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', nbsp: ' ', quot: '"', '#39': "'" };
