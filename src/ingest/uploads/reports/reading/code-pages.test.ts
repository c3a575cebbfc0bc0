import { describe, expect, test } from 'vitest';
import { encodeAs, readReport, recordsOf } from '../../../../../test/generators/report-documents.ts';
import { profileOf } from '../profile.ts';
import type { Encoding } from './types.ts';

interface Sample {
  encoding: Encoding;
  platform: string;
  headers: string[];
  name: string;
}

/** Headers of exports that people have saved again in a spreadsheet of their country. */
const samples: Sample[] = [
  {
    encoding: 'windows-1250',
    platform: 'google',
    headers: ['Dzień', 'Kampania', 'Wyświetlenia', 'Kliknięcia', 'Koszt'],
    name: 'Wyprzedaż żółta Łódź',
  },
  {
    encoding: 'windows-1251',
    platform: 'google',
    headers: ['День', 'Кампания', 'Показы', 'Клики', 'Расходы'],
    name: 'Весенняя распродажа',
  },
  {
    encoding: 'windows-1254',
    platform: 'meta',
    headers: ['Gün', 'Kampanya Adı', 'Gösterim', 'Bağlantı Tıklamaları', 'Harcanan Tutar (TRY)'],
    name: 'İndirim Iğdır şubat',
  },
  {
    encoding: 'windows-1256',
    platform: 'meta',
    headers: ['اليوم', 'اسم الحملة', 'مرات الظهور', 'النقرات (الكل)', 'المبلغ الذي تم إنفاقه (EGP)'],
    name: 'تخفيضات الربيع',
  },
  {
    encoding: 'gbk',
    platform: 'google',
    headers: ['天', '广告系列', '展示次数', '点击次数', '费用'],
    name: '春季促销',
  },
  {
    encoding: 'big5',
    platform: 'meta',
    headers: ['天數', '行銷活動名稱', '曝光次數', '連結點擊次數', '花費金額 (TWD)'],
    name: '春季促銷',
  },
  {
    encoding: 'euc-kr',
    platform: 'meta',
    headers: ['일', '캠페인 이름', '노출', '링크 클릭', '지출 금액 (KRW)'],
    name: '봄 세일 브랜드',
  },
];

describe('a report in the encoding of a country', () => {
  test.each(samples)('is read: $encoding', async ({ encoding, platform, headers, name }) => {
    const row = ['2026-03-27', name, '1200', '34', '56'];
    const text = `${headers.join(',')}\n${Array(300).fill(row.join(',')).join('\n')}\n`;
    const read = await readReport(encodeAs(text, encoding), {
      findHeader: profileOf(platform).findHeader,
      batchRows: 100,
      cuts: [1, 17, 18, 19, 300, 301, 1_001],
    });
    expect(read.layout).toMatchObject({ encoding, headers });
    expect(recordsOf(read).at(-1)).toEqual(
      Object.fromEntries(headers.map((header, at) => [header, row[at]])),
    );
    for (const resume of read.resumes) {
      const rest = await readReport(encodeAs(text, encoding), {
        findHeader: profileOf(platform).findHeader,
        resume,
      });
      expect(rest.rows).toEqual(read.rows.slice(resume.nextRowIndex));
    }
  });

  test('is read as Windows-1252 or Shift_JIS when no other encoding knows more of its columns', async () => {
    const findHeader = profileOf('google').findHeader;
    const german = encodeAs('Tag,Kampagne,Kosten\n2026-03-27,Größe für alle,1\n', 'windows-1252');
    expect((await readReport(german, { findHeader })).layout.encoding).toBe('windows-1252');
    const japanese = encodeAs('日,キャンペーン,費用\n2026-03-27,春のセール,1\n', 'shift_jis');
    expect((await readReport(japanese, { findHeader })).layout.encoding).toBe('shift_jis');
  });
});
