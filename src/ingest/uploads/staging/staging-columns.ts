import { type Sql, sql } from '../../../lib/postgres/sql.ts';

/** What line `s` says, in one form for facts, which have it in columns, and for everything else. */
export function rawData(): Sql {
  return sql`coalesce(s.raw_data, jsonb_build_object(
    'metric_date', s.metric_date, 'campaign_external_id', s.campaign_external_id,
    'ad_set_external_id', s.ad_set_external_id, 'ad_external_id', s.ad_external_id,
    'impressions', s.impressions, 'clicks', s.clicks, 'reach', s.reach, 'spend', s.spend,
    'conversions', s.conversions, 'conversion_value', s.conversion_value, 'currency', s.currency))`;
}
