// A shop that charges each card once, whatever crashes. Run it with `node app.mjs`.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { defineTask, openSluice } from 'sluice';
import { z } from 'zod';

/** Stands for a payment provider: like a real one, it takes each idempotency key once. */
const charges = new Map();
async function chargeCard({ card, cents, idempotencyKey }) {
  if (!charges.has(idempotencyKey))
    charges.set(idempotencyKey, { card, cents, receipt: `r-${charges.size + 1}` });
  return charges.get(idempotencyKey);
}

class CardDeclined extends Error {
  name = 'CardDeclined';
}

const charge = defineTask({
  name: 'charge',
  input: z.object({ order: z.string().min(1), card: z.string().min(4), cents: z.int().positive() }),
  retry: { maxRetries: 5, delay: { type: 'exponential', baseMs: 500 }, classes: { CardDeclined: false } },
  run: async ({ order, card, cents }, { step }) => {
    if (card === '0000') throw new CardDeclined('The card was declined');
    const { receipt } = await step('charge', ({ idempotencyKey }) =>
      chargeCard({ card, cents, idempotencyKey }),
    );
    await step('mail', () => `receipt ${receipt} of order ${order}`);
    return { receipt };
  },
});

const sluice = await openSluice({ dataDir: './.sluice', tasks: [charge] });
const app = new Hono();
const tenantId = 'shop';

app.post('/orders/:order/charge', async (c) => {
  const { order } = c.req.param();
  try {
    // One active job of an order: a second click finds the first.
    const input = { ...(await c.req.json()), order };
    const { jobId } = await sluice.dispatch('charge', input, { tenantId, subjectId: order });
    const { status, result, error } = await sluice.wait(tenantId, jobId, {
      signal: AbortSignal.timeout(30_000),
    });
    return status === 'success' ? c.json(result) : c.json({ error: error?.message ?? status }, 402);
  } catch (error) {
    if (error.code === 'input_invalid') return c.json({ error: error.message }, 422);
    if (error.code === 'job_already_active') return c.json({ error: 'This order is being charged' }, 409);
    throw error;
  }
});
app.get('/charges', (c) => c.json([...charges.values()]));
app.all('/sluice/*', (c) => sluice.fetch(c.req.raw, { prefix: '/sluice' }));

const server = serve(
  { fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' },
  ({ port }) => console.log(`http://127.0.0.1:${port}`),
);
process.once('SIGTERM', async () => {
  server.close();
  await sluice.stop();
});
