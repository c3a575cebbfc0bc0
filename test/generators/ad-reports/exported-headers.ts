import type { ReportField } from '../../../src/ingest/uploads/reports/types.ts';
import exported from '../../fixtures/exported-headers.json' with { type: 'json' };

/*
 * What the columns of exports are called, kept apart from the names that the product knows: a name that is wrong there
 * must not be wrong here in the same way.
 *
 * Meta: names, spend and impressions were seen in importers of public repositories, in each of these languages
 * ("Ausgegebener Betrag (EUR)", "Montant dépensé (EUR)", "消化金額 (JPY)", "المبلغ الذي تم إنفاقه (EGP)" and so on). Ids,
 * ranges, all clicks and conversion values, and nearly all of Google's and TikTok's, were not seen in a file: they are
 * what the interfaces are believed to say. A report whose header is another one is held for review, not read wrongly.
 */

/** The header of a field in a platform's export in a language. */
export function exportedHeader(platform: string, language: string, field: ReportField): string {
  const all: Record<string, Record<string, Partial<Record<ReportField, string>>>> = exported;
  const header = all[platform]?.[language]?.[field];
  if (header === undefined)
    throw new Error(`There is no header of ${field} in ${platform} reports in ${language}`);
  return header;
}
