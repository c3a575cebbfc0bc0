/** The fields that columns are mapped to, as people call them. */
export const fieldGroups = [
  {
    group: 'Day',
    fields: {
      metric_date: 'Day',
      period_start: 'First day of the period',
      period_end: 'Last day of the period',
    },
  },
  {
    group: 'Campaign',
    fields: {
      campaign_id: 'Campaign id',
      campaign_name: 'Campaign name',
      campaign_status: 'Campaign status',
      campaign_type: 'Campaign type',
    },
  },
  {
    group: 'Ad set or ad group',
    fields: { ad_set_id: 'Ad set id', ad_set_name: 'Ad set name', ad_set_status: 'Ad set status' },
  },
  { group: 'Ad', fields: { ad_id: 'Ad id', ad_name: 'Ad name', ad_status: 'Ad status' } },
  {
    group: 'Figures',
    fields: {
      impressions: 'Impressions',
      clicks: 'Clicks',
      link_clicks: 'Link clicks',
      reach: 'Reach',
      spend: 'Spend',
      conversions: 'Conversions',
      conversion_value: 'Conversion value',
      currency: 'Currency',
    },
  },
] as const;

type FieldsOf<G> = G extends { fields: infer F } ? keyof F : never;
export type ReportField = FieldsOf<(typeof fieldGroups)[number]>;

const fieldTitles = Object.assign({}, ...fieldGroups.map(({ fields }) => fields)) as Record<
  ReportField,
  string
>;

export const isReportField = (name: string | null): name is ReportField =>
  name !== null && Object.hasOwn(fieldTitles, name);

export const fieldTitle = (name: string): string => (isReportField(name) ? fieldTitles[name] : name);

const figures: readonly ReportField[] = [
  'impressions',
  'clicks',
  'link_clicks',
  'reach',
  'spend',
  'conversions',
  'conversion_value',
];

/** What is still needed before any row can be read, in words. The lack of a day alone is none: it may be a range. */
export function missingNeeds(given: ReadonlySet<ReportField>): string[] {
  const has = (...fields: ReportField[]) => fields.some((field) => given.has(field));
  const needs: [isMet: boolean, what: string][] = [
    [has('campaign_name', 'campaign_id', 'ad_set_name', 'ad_set_id', 'ad_name', 'ad_id'), 'the campaign'],
    [has(...figures), 'at least one figure, such as impressions or spend'],
  ];
  const missing = needs.flatMap(([isMet, what]) => (isMet ? [] : [what]));
  const hasDays = has('metric_date') || (has('period_start') && has('period_end'));
  return missing.length === 0 || hasDays ? missing : ['the day', ...missing];
}
