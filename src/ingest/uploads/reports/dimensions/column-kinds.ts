import { headerKey } from '../header-names.ts';
import type { HeaderAliases } from '../headers/aliases.ts';
import { isAddedHeader } from '../lines/rejected-rows.ts';
import type { MappedColumns, ReportField } from '../types.ts';
import { readDate } from '../values/dates.ts';
import { isNullName } from '../values/numbers.ts';
import { isKnownDimension } from './known-dimensions.ts';

/**
 * What a column is that no field is read from. `dimension`: it tells lines of one day and ad apart, and the platform is
 * known to break reports down by it. `unknown`: it may be one. `key`: it looks like a campaign, ad set, ad, client or
 * day, so lines that differ in it may be about different things. `other`: a rate, a setting or the like.
 */
export type ColumnKind = 'dimension' | 'unknown' | 'key' | 'other';

/** By header. Decided once per file, from its first rows, and saved with the checkpoint. */
export type ColumnKinds = Record<string, ColumnKind>;

/** A report is broken down by a few columns; what a file has beyond that is not compared. */
const maxCompared = 40;

/** The kinds of all unread columns; `known` are those that were decided before. */
export function kindsOf(
  { unmapped, format }: MappedColumns,
  {
    aliases,
    rows,
    known,
    dimensions = [],
  }: {
    aliases: HeaderAliases;
    rows: readonly (readonly string[])[];
    known: ColumnKinds;
    /** Of the platform's profile. */
    dimensions?: readonly string[];
  },
): ColumnKinds {
  const kinds: ColumnKinds = { ...known };
  const own = new Set(dimensions.map(headerKey));
  let compared = Object.values(known).filter((kind) => kind !== 'other').length;
  for (const { index, header } of unmapped) {
    if (Object.hasOwn(kinds, header)) continue;
    const cells = rows.map((row) => (row[index] ?? '').trim()).filter((cell) => !isNullName(cell));
    const kind =
      compared < maxCompared ? kindOf(header, { aliases, cells, isJson: format === 'json', own }) : 'other';
    if (kind !== 'other') compared += 1;
    kinds[header] = kind;
  }
  return kinds;
}

interface Seen {
  aliases: HeaderAliases;
  cells: string[];
  isJson: boolean;
  own: ReadonlySet<string>;
}

function kindOf(header: string, { aliases, cells, isJson, own }: Seen): ColumnKind {
  if (isAddedHeader(header)) return 'other';
  if (isKnownDimension(header) || own.has(headerKey(header))) return 'dimension';
  if (isJson && figurePaths.test(header)) return 'other';
  if (isSetting(header) || isFigure(header, cells)) return 'other';
  if (looksLikeKey(header, aliases)) return 'key';
  const isKeyByValue = cells.every((cell) => longId.test(cell)) || cells.every(isDay);
  return cells.length > 0 && isKeyByValue ? 'key' : 'unknown';
}

/** Numbers with decimals, percent or currency signs are figures; whole numbers are, when the header says so. */
function isFigure(header: string, cells: string[]): boolean {
  if (cells.length === 0 || !cells.every(isMeasured)) return false;
  return isFigureName(header) || cells.some((cell) => !whole.test(cell));
}

/** Members of API responses that hold figures and settings. */
const figurePaths = new RegExp(
  [
    '^(metrics|actions|action_values|cost_per_|video_|unique_|website_|outbound_|conversions?\\b)',
    '^(campaign|adGroup|adGroupAd|ad|customer|campaignBudget|biddingStrategy)\\.',
    '(^|\\.)(resourceName|ctr|cpc|cpm|cpp|frequency|date_start|date_stop)$',
  ].join('|'),
);

const longId = /^\d{10,}$/;
const whole = /^\d+$/;
/** Of a cell without its spaces: were they part of it, the engine would try every way to divide a run of them. */
const measured = /^[(\-−<>~≈]*(?:\p{Sc}|[A-Z]{1,3}\$?)?[\d.,']+(?:%|\p{Sc}|[A-Z]{3}|x)?\)?$/u;
const longestMeasured = 200;

const isMeasured = (cell: string): boolean =>
  cell.length <= longestMeasured && measured.test(cell.replace(/\s/g, ''));

const isDay = (cell: string): boolean => cell.length >= 8 && typeof readDate(cell, 'dmy') === 'string';

const settings = [
  'status|delivery|budget|bid|bidding|strategy|ranking|indicator|attribution|setting|optimi|label',
  'tracking|template|starts|ends|starttime|endtime|startdate|enddate|lastsignificantedit|schedule',
  'objective|currency|timezone|score|auslieferung|gebot|einstellung|beginn|endet|ziel|diffusion|enchere',
  'parametre|presupuesto|entrega|puja|orcamento|lance|offerta|impostazion|biedings|instelling|budzet',
  'ustawieni|butce|teklif|ayar|配信|予算|入札|設定|ステータス|投放|预算|預算|出价|出價|状态|狀態|예산|입찰|상태|设置',
].flatMap((line) => line.split('|'));

const figureWords = [
  'impr|click|cost|spen[dt]|cpc|cpm|cpa|cpv|ctr|roas|rate|view|plays|result|purchase|conv|revenue|reach',
  'frequency|leads|install|engagement|likes|comments|shares|follow|visits|checkout|total|avg|average',
  'percent|share$|sales|amount|value|quality|people|reactions|saves|messages|contacts|sessions|watch',
  'thruplay|subscri|registrations|orders|units|klick|kosten|aufruf|ausgegeben|reichweite|ergebnis|wert$',
  'rate$|anzahl|clic|cout|depens|vues|portee|valeur|coste|gasto|importe|alcance|valor|custo|cliques',
  'visualiza|spesa|copertura|risultat|valore|uitgegeven|bereik|vertoning|koszt|kwota|zasieg|wyswietle',
  'klikni|wynik|wartosc|maliyet|harcan|erisim|gosterim|tiklama|sonuc|deger|率|金額|金额|費用|费用|単価|单价|單價|数$|數$',
  '回数|次数|次數|成本|コスト|リーチ|クリック|インプレッション|コンバージョン|動画|视频|影片|비용|클릭|노출|전환|도달',
].flatMap((line) => line.split('|'));

const settingPattern = new RegExp(settings.join('|'), 'u');
const figurePattern = new RegExp(figureWords.join('|'), 'u');
const isSetting = (header: string) => settingPattern.test(headerKey(header));
const isFigureName = (header: string) => figurePattern.test(headerKey(header));

const keyFields = /^(metric_date|period_start|period_end|(campaign|ad_set|ad)_(id|name))$/;
const keyWords = new Set(
  [
    'campaign campaigns ad ads adset adsets adgroup adgroups creative creatives client clients',
    'customer account day date kampagne anzeige anzeigengruppe werbeanzeige kunde konto',
    'werbekonto tag datum campagne annonce annonces publicite compte jour campana campanha',
    'anuncio anuncios cliente cuenta conta dia fecha data campagna annuncio inserzione conto',
    'giorno advertentie klant dag kampania reklama klient dzien kampanya reklam musteri hesap',
    'gun tarih キャンペーン 広告 広告セット 広告グループ クライアント アカウント 日 日付 广告 广告系列 广告组 客户 帐户 账户 日期 天 廣告 行銷活動 客戶 帳戶',
    '캠페인 광고 광고세트 광고그룹 고객 계정 날짜 кампания объявление клиент аккаунт дата день',
  ].flatMap((line) => line.split(' ')),
);

/** By its name: a field that identifies lines is nearest, or one of its words names such a thing. */
function looksLikeKey(header: string, aliases: HeaderAliases): boolean {
  const suggestion: ReportField | null = aliases.suggest(header);
  if (suggestion !== null && keyFields.test(suggestion)) return true;
  const words = header
    .normalize('NFKC')
    .split(/[^\p{L}\p{N}]+/u)
    .map(headerKey);
  return words.some((word) => keyWords.has(word)) || keyWords.has(headerKey(header));
}
