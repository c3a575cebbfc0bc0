import { queryOptions } from '@tanstack/react-query';
import { api, type Reply } from '../../api/client.ts';

export type ConnectorFigures = Reply<'/api/stats/connectors'>['data'][number];

export const connectorStatsQuery = queryOptions({
  queryKey: ['connectors', 'statistics'],
  queryFn: ({ signal }) => api.get('/api/stats/connectors', { signal }),
});

export const airbyteQuery = queryOptions({
  queryKey: ['connectors', 'airbyte'],
  queryFn: ({ signal }) => api.get('/api/connectors/status', { signal }),
});
