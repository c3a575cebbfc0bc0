import type { ServerResponse } from 'node:http';
import { sendJson } from './http.ts';

const quickestMs = 60;
const slowestMs = 260;
/** Of a hundred calls. */
const odds = { throttled: 4, failing: 8, unknownSku: 6 };

/** A price service as they are: slow at times, down at times, without every product. */
export class DemoProvider {
  readonly #timers = new Set<NodeJS.Timeout>();

  handle(response: ServerResponse, url: URL): void {
    const sku = url.searchParams.get('sku') ?? '';
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        answer(response, sku);
      },
      quickestMs + Math.random() * (slowestMs - quickestMs),
    );
    this.#timers.add(timer);
    response.on('close', () => {
      clearTimeout(timer);
      this.#timers.delete(timer);
    });
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }
}

function answer(response: ServerResponse, sku: string) {
  const chance = Math.random() * 100;
  if (chance < odds.throttled) {
    return sendJson(response, 429, { error: 'Too many requests' }, { 'retry-after': '1' });
  }
  if (chance < odds.throttled + odds.failing) return sendJson(response, 503, { error: 'Try again later' });
  const number = numberOf(sku);
  // Which products are unknown does not depend on chance: trying again does not help.
  if (number % 100 < odds.unknownSku) return sendJson(response, 404, { error: 'No such product' });
  sendJson(response, 200, {
    product: { sku, price: (5 + (number % 9_500) / 100).toFixed(2), currency: 'EUR', stock: number % 240 },
  });
}

/** The same number for the same product, without a list of products. */
function numberOf(sku: string): number {
  let number = 7;
  for (const letter of sku) number = (number * 31 + (letter.codePointAt(0) ?? 0)) % 1_000_003;
  return number;
}
