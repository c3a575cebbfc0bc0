import type { Platform } from './platforms.ts';

/** Words that only one platform's reports have, in the languages in which people mostly export. */
const marks: Record<string, readonly RegExp[]> = {
  meta: [
    /\bad ?set\b/i,
    /amount spent|importe gastado|ausgegebener betrag|montant dépensé|valor usado|importo speso|消化金額/i,
    /reporting (starts|ends)|berichts(start|ende)|inicio del informe|レポート開始日/i,
    /adset_(id|name)|date_(start|stop)/i,
    /attribution setting|result indicator|link clicks/i,
    /facebook|\bmeta\b|instagram/i,
  ],
  google: [
    /\bimpr\./i,
    /cost_?micros/i,
    /avg\. cpc|conv\. (rate|value)|cost \/ conv/i,
    /^"?total: /im,
    /\badgroup\b|currency code|budget name|optimi[sz]ation score/i,
    /google|adwords/i,
  ],
  tiktok: [
    /\bby day\b/i,
    /stat_time_day/i,
    /\(destination\)/i,
    /website url/i,
    /cost per 1,000 people reached|total of \d+ results|件の結果/i,
    /tik ?tok/i,
  ],
  microsoft: [
    /gregorian date|timeperiod/i,
    /delivered match type|bid match type/i,
    /microsoft corporation|bing ?ads|microsoft/i,
    /\bCampaignName\b|\bAdGroupName\b/,
  ],
  linkedin: [
    /start date \(in utc\)/i,
    /campaign group name|total spent/i,
    /clicks to landing page|lead form opens/i,
    /linked ?in/i,
  ],
  pinterest: [
    /spend in account currency|spend_in_micro_dollar/i,
    /pin clicks|outbound clicks/i,
    /promoted pin/i,
    /pinterest/i,
  ],
};

/** The platform whose words are in the file's name or beginning; null for none or a tie. */
export function guessPlatform(filename: string, beginning: string): Platform | null {
  const looked = `${filename.replaceAll(/[_-]/g, ' ')}\n${beginning}`;
  const scores = Object.entries(marks)
    .map(([platform, own]) => ({ platform, score: own.filter((mark) => mark.test(looked)).length }))
    .sort((a, b) => b.score - a.score);
  const [best, second] = scores;
  return best === undefined || best.score === 0 || best.score === second?.score ? null : best.platform;
}

const lookedAtBytes = 64 * 1024;

/** The beginning of a file as text, in any of the usual encodings; nothing of one that is packed. */
export async function beginningOf(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.slice(0, lookedAtBytes).arrayBuffer());
  return isPacked(bytes) ? '' : new TextDecoder(encodingOf(bytes)).decode(bytes);
}

/** A workbook, a ZIP archive or a gzip file. */
function isPacked([first, second]: Uint8Array): boolean {
  return (first === 0x50 && second === 0x4b) || (first === 0x1f && second === 0x8b);
}

function encodingOf(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  try {
    // The cut may split a character, which does not mean another encoding.
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return 'utf-8';
  } catch {
    return 'shift_jis';
  }
}
