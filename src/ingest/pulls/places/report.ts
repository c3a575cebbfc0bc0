import { pipeline } from 'node:stream/promises';
import { createTurns } from '../../../lib/timing/event-loop-turns.ts';
import type { ApiPlace, UrlPlace } from '../form.ts';
import type { DayRange } from '../types.ts';
import type { Caller } from './caller.ts';
import { readGoogle } from './google.ts';
import { readMeta } from './meta.ts';
import { classOfStatus, PullProblem, quoted, retryAfterOf } from './problems.ts';
import { PulledFile } from './pulled-file.ts';
import { exactText, inOneOrder } from './rows.ts';
import { readTiktok } from './tiktok.ts';

export interface Wanted {
  range: DayRange;
  /** A report that Meta has prepared. */
  reportRunId: string | null;
  maxBytes: number;
}

/** Fetches a report whole. Null: the account has no figures for these days. The caller forgets the file. */
export async function readReport(
  caller: Caller,
  place: UrlPlace | ApiPlace,
  wanted: Wanted,
): Promise<PulledFile | null> {
  const file = await PulledFile.open(wanted);
  try {
    const isAny =
      place.kind === 'url'
        ? await download(caller, { place, wanted, file })
        : await ask(caller, { place, wanted, file });
    if (isAny) return file;
    await file.forget();
    return null;
  } catch (error) {
    await file.forget();
    throw error;
  }
}

type Reading<Kind> = { place: Kind; wanted: Wanted; file: PulledFile };

const downloadTimeoutMs = 30 * 60_000;

async function download(caller: Caller, { place, wanted, file }: Reading<UrlPlace>): Promise<boolean> {
  const { range, maxBytes } = wanted;
  const url = place.url.replaceAll('{date_from}', range.from).replaceAll('{date_to}', range.to);
  const headers = await authorization(caller, place);
  await caller.assertHeld();
  const { signal } = caller;
  const answer = await caller.fetch.stream(url, {
    headers,
    signal,
    timeoutMs: downloadTimeoutMs,
    // One byte more, so that the file says that it is too large in its own words.
    maxBytes: maxBytes + 1,
  });
  const { host } = new URL(url);
  if (answer.status !== 200) {
    const start: Buffer[] = [];
    for await (const chunk of answer.body) {
      start.push(chunk as Buffer);
      if (start.length >= 4) break;
    }
    const words = quoted(Buffer.concat(start).subarray(0, 300).toString('utf8'));
    const message = `${host} answered ${answer.status}: ${words}`;
    throw new PullProblem(classOfStatus(answer.status), message, retryAfterOf(answer));
  }
  await pipeline(answer.body, file);
  return true;
}

async function authorization({ purse }: Caller, { auth }: UrlPlace): Promise<Record<string, string>> {
  switch (auth.type) {
    case 'none':
      return {};
    case 'bearer':
      return { authorization: `Bearer ${(await purse.take(auth.secret)).trim()}` };
    case 'basic': {
      const password = (await purse.take(auth.password_secret)).trim();
      return { authorization: `Basic ${Buffer.from(`${auth.user}:${password}`).toString('base64')}` };
    }
    case 'header':
      return { [auth.name]: (await purse.take(auth.secret)).trim() };
  }
}

/** Writes the rows in the platform's own shape, which the uploads read like an export of it. */
async function ask(caller: Caller, { place, wanted, file }: Reading<ApiPlace>): Promise<boolean> {
  const { who, rows, open, close } = apiOf(caller, place, wanted);
  const texts: string[] = [];
  const takeTurn = createTurns();
  let bytes = 0;
  for await (const page of rows) {
    for (const row of page) {
      const text = exactText(row, who);
      texts.push(text);
      bytes += text.length;
      await takeTurn();
    }
    // The file would refuse it anyway; this keeps it out of memory.
    if (bytes > wanted.maxBytes) break;
  }
  if (texts.length === 0) return false;
  await pipeline(fileOf(await inOneOrder(texts), { open, close }), file);
  return true;
}

const writtenAtOnce = 500;

function* fileOf(texts: readonly string[], { open, close }: { open: string; close: string }) {
  yield `${open}\n`;
  for (let at = 0; at < texts.length; at += writtenAtOnce) {
    const some = texts.slice(at, at + writtenAtOnce);
    yield `${some.join(',\n')}${at + writtenAtOnce < texts.length ? ',\n' : ''}`;
  }
  yield `\n${close}\n`;
}

function apiOf(caller: Caller, place: ApiPlace, { range, reportRunId }: Wanted) {
  switch (place.kind) {
    case 'meta':
      return {
        ...{ who: 'Meta', open: '{"data":[', close: ']}' },
        rows: readMeta(caller, place, { range, reportRunId }),
      };
    case 'google':
      return {
        ...{ who: 'Google Ads', open: '[{"results":[', close: ']}]' },
        rows: readGoogle(caller, place, range),
      };
    case 'tiktok':
      return {
        ...{ who: 'TikTok', open: '{"code":0,"message":"OK","data":{"list":[', close: ']}}' },
        rows: readTiktok(caller, place, range),
      };
  }
}
