import type { DemoGround } from '../types.ts';

const products = ['Assam tea', 'Uji green tea', 'Guatemala beans', 'Cardamom', 'Saffron', 'Cinnamon sticks'];
const rows = 1_500;

/** A list of products that a slow provider enriches, and one that rules check. */
export async function sendRows(ground: DemoGround): Promise<void> {
  const url = `http://${ground.host}/provider/price`;
  await sendJob(ground, {
    name: 'demo-products.csv',
    text: productList(rows),
    processor: 'http',
    options: {
      request: { method: 'GET', url, query: { sku: '{{sku}}' } },
      response: { result: { price: 'product.price', currency: 'product.currency', stock: 'product.stock' } },
    },
  });
  await sendJob(ground, {
    name: 'demo-suppliers.csv',
    text: supplierList(),
    processor: 'validate',
    options: {
      rules: [
        { column: 'email', type: 'string', required: true, pattern: '^[^@ ]+@[^@ ]+$' },
        { column: 'minimum_order', type: 'number', required: true },
      ],
    },
  });
}

interface RowList {
  name: string;
  text: string;
  processor: string;
  options: object;
}

async function sendJob({ call }: DemoGround, { name, text, processor, options }: RowList): Promise<void> {
  const form = new FormData();
  form.set('processor', processor);
  form.set('options', JSON.stringify(options));
  form.set('file', new Blob([text], { type: 'text/csv' }), name);
  await call({ method: 'POST', path: '/api/jobs', body: form, key: name });
}

function productList(count: number): string {
  const lines = ['sku,title,brand'];
  for (let number = 1; number <= count; number += 1) {
    const title = products[number % products.length];
    lines.push(`NW-${String(number).padStart(5, '0')},${title} ${100 + (number % 5) * 100} g,Northwind`);
  }
  return `${lines.join('\n')}\n`;
}

function supplierList(): string {
  return [
    'supplier,email,minimum_order',
    'Green Valley,orders@greenvalley.example,24',
    'Kaffa Growers,sales@kaffa.example,60',
    'Old Port Spices,no address,12',
    'Saffron House,hello@saffron.example,a few',
    'Uji Gardens,shop@uji.example,48',
    '',
  ].join('\n');
}
