import { oneOf, searchParser, text } from '../../list-state.ts';

export interface ConnectorsSearch {
  q: string;
}

export const connectorsSearch = searchParser<ConnectorsSearch>({
  q: text(),
});

export const syncStatuses = [
  'queued',
  'running',
  'failed',
  'success',
  'dead_letter',
  'paused',
  'canceled',
] as const;

export interface ConnectorSearch {
  status: (typeof syncStatuses)[number];
}

export const connectorSearch = searchParser<ConnectorSearch>({
  status: oneOf(syncStatuses),
});
