import type { DemoGround } from '../types.ts';

const days = 14;
const campaigns = ['Spring tea', 'Coffee of the month', 'Spices for winter'];
const ages = ['18-24', '25-34', '35-44', '45-54', '55-64', '65+'];
const dayMs = 86_400_000;

/** Three reports: one with a breakdown, one with bad rows, one that waits for a person. */
export async function sendReports(ground: DemoGround): Promise<void> {
  await sendReport(ground, { name: 'demo-age-and-gender.csv', text: breakdownReport() });
  await sendReport(ground, { name: 'demo-daily-with-bad-rows.csv', text: badReport(), isPartial: true });
  await sendReport(ground, { name: 'demo-waits-for-review.csv', text: dailyReport(), isHeld: true });
}

interface Report {
  name: string;
  text: string;
  isPartial?: boolean;
  isHeld?: boolean;
}

async function sendReport({ call, workspaceId }: DemoGround, report: Report): Promise<void> {
  const form = new FormData();
  form.set('platform', 'meta');
  form.set('source', 'manual');
  form.set('workspace_id', workspaceId);
  if (report.isPartial) form.set('force_partial', 'true');
  if (report.isHeld) form.set('review', 'true');
  form.set('file', new Blob([report.text], { type: 'text/csv' }), report.name);
  await call({ method: 'POST', path: '/api/uploads', body: form, key: report.name });
}

function breakdownReport(): string {
  const lines = ['Campaign name,Campaign ID,Day,Age,Gender,Impressions,Link clicks,Amount spent (EUR)'];
  for (const [index, campaign] of campaigns.entries()) {
    for (const day of lastDays()) {
      for (const [place, age] of ages.entries()) {
        for (const gender of ['female', 'male']) {
          const impressions = 400 + place * 60 + index * 35 + (gender === 'male' ? 20 : 0);
          const clicks = Math.round(impressions / 40);
          lines.push(
            [
              campaign,
              90_001 + index,
              day,
              age,
              gender,
              impressions,
              clicks,
              (clicks * 0.42).toFixed(2),
            ].join(','),
          );
        }
      }
    }
  }
  return `${lines.join('\n')}\n`;
}

function dailyReport(): string {
  const lines = ['Campaign name,Campaign ID,Day,Impressions,Link clicks,Amount spent (EUR)'];
  for (const day of lastDays()) lines.push(['Gift boxes', 90_010, day, 1_200, 31, '14.20'].join(','));
  return `${lines.join('\n')}\n`;
}

function badReport(): string {
  const [header, ...lines] = dailyReport()
    .replaceAll('Gift boxes,90010', 'Newsletter,90011')
    .trim()
    .split('\n');
  const bad = [
    'Newsletter,90011,the day before yesterday,900,20,8.10',
    'Newsletter,9.0011E+4,2026-02-01,900,20,8.10',
  ];
  return `${[header, ...lines, ...bad].join('\n')}\n`;
}

function lastDays(): string[] {
  const today = Math.floor(Date.now() / dayMs) * dayMs;
  return Array.from({ length: days }, (_, index) =>
    new Date(today - (days - index) * dayMs).toISOString().slice(0, 10),
  );
}
