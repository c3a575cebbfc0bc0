/** The columns of a breakdown with values of each. `json` is how the platforms' APIs call them. */
export const breakdowns: Record<string, { columns: [header: string, json: string, values: string[]][] }> = {
  'age and gender': {
    columns: [
      ['Age', 'age', ['18-24', '25-34', '35-44', '65+']],
      ['Gender', 'gender', ['female', 'male', 'unknown']],
    ],
  },
  placement: {
    columns: [
      ['Platform', 'publisher_platform', ['facebook', 'instagram']],
      ['Placement', 'platform_position', ['feed', 'story', 'Reels, overlay']],
    ],
  },
  region: { columns: [['Region', 'region', ['Bavaria', 'Île-de-France', 'Texas', 'New "York"']]] },
  device: { columns: [['Device', 'device_platform', ['Computers', 'Mobile phones', 'Tablets']]] },
  hour: {
    columns: [
      [
        'Time of day (ad account time zone)',
        'hourly_stats_aggregated_by_advertiser_time_zone',
        ['00:00:00 - 00:59:59', '13:00:00 - 13:59:59'],
      ],
    ],
  },
  product: { columns: [['Product ID', 'product_id', ['1001', '1002, Red shoe', '77']]] },
  keyword: {
    columns: [
      ['Search keyword', 'adGroupCriterion.keyword.text', ['shoes', '[red shoes]', '"buy shoes"']],
      ['Match type', 'adGroupCriterion.keyword.matchType', ['Broad match', 'Exact match']],
    ],
  },
  'search term': {
    columns: [['Search term', 'searchTermView.searchTerm', ['shoe', 'shoe shop', 'boots, warm']]],
  },
  'conversion action': {
    columns: [['Conversion action', 'segments.conversionAction', ['Purchase', 'Lead']]],
  },
  'unknown column': { columns: [['Ladenbereich', 'shop_area', ['Nord', 'Süd', 'Ost']]] },
};
