import { oneOf, searchParser, text } from '../../list-state.ts';

export const deliveryStatuses = ['pending', 'delivered', 'exhausted'] as const;

export interface WebhooksSearch {
  endpoint: string;
  status: (typeof deliveryStatuses)[number];
  delivery: string;
}

export const webhooksSearch = searchParser<WebhooksSearch>({
  endpoint: text(),
  status: oneOf(deliveryStatuses),
  delivery: text(),
});
