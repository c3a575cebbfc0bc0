import type { ReportField } from '../../../src/ingest/uploads/reports/types.ts';
import exported from '../../fixtures/exported-headers.json' with { type: 'json' };

/*
 * What the columns of exports are called, kept apart from the names that the product knows: a name that is wrong there
 * must not be wrong here in the same way.
 *
 * Meta: headers that importers in public repositories read from real exports in these languages: those with
 * "Ausgegebener Betrag (EUR)", "Montant dépensé (EUR)", "Importe gastado (EUR)", "Valor usado (BRL)",
 * "Importo speso (EUR)", "Besteed bedrag (EUR)", "Wydana kwota (PLN)", "Harcanan Tutar (TRY)", "消化金額 (JPY)",
 * "지출 금액 (KRW)", "已花费金额 (USD)", "Số tiền đã chi tiêu (VND)", "Сумма затрат (USD)",
 * "Jumlah yang dibelanjakan (IDR)", "المبلغ الذي تم إنفاقه (EGP)". Few of them read the ids;
 * those are the terms of the interface. Google and TikTok: the terms of their interfaces; TikTok's Japanese and Chinese
 * ones were seen in importers.
 */

/** The header of a field in a platform's export in a language. */
export function exportedHeader(platform: string, language: string, field: ReportField): string {
  const all: Record<string, Record<string, Partial<Record<ReportField, string>>>> = exported;
  const header = all[platform]?.[language]?.[field];
  if (header === undefined)
    throw new Error(`There is no header of ${field} in ${platform} reports in ${language}`);
  return header;
}
