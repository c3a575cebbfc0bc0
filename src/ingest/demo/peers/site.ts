import type { ServerResponse } from 'node:http';

interface Page {
  path: string;
  title: string;
  text: string;
}

const pages: readonly Page[] = [
  {
    path: '/',
    title: 'Northwind Traders',
    text:
      'We buy tea, coffee and spices from growers and ship them to shops. This site belongs to the ' +
      'demo of Sluice.',
  },
  {
    path: '/about',
    title: 'About us',
    text:
      'Northwind Traders was founded in 1996 by three friends who could not find good cinnamon. Today ' +
      '42 people work in our two warehouses.',
  },
  {
    path: '/products/tea',
    title: 'Tea',
    text:
      'Green tea from Uji, black tea from Assam and herbal blends. Tea is packed in bags of 100 grams ' +
      'and kept below 18 degrees.',
  },
  {
    path: '/products/coffee',
    title: 'Coffee',
    text:
      'Beans from Ethiopia and Guatemala, roasted every Tuesday. Coffee leaves the warehouse at most ' +
      'three days after roasting.',
  },
  {
    path: '/products/spices',
    title: 'Spices',
    text:
      'Cinnamon, cardamom, saffron and pepper. Saffron is weighed twice, because a gram of it costs ' +
      'more than a kilogram of pepper.',
  },
  {
    path: '/shipping',
    title: 'Shipping',
    text:
      'Orders before noon leave the same day. Shipping within the country takes two days, abroad five. ' +
      'Orders above 80 euros ship free.',
  },
  {
    path: '/returns',
    title: 'Returns',
    text:
      'Unopened bags can be returned within 30 days. Write to returns with the number of the order; ' +
      'the refund arrives within a week.',
  },
  {
    path: '/wholesale',
    title: 'Wholesale',
    text:
      'Shops order by the box of 24 bags. The first order needs a tax number; invoices are due after ' +
      '14 days.',
  },
  {
    path: '/jobs',
    title: 'Jobs',
    text:
      'We are looking for a roaster with three years of experience and for somebody who likes to taste ' +
      'tea in the morning.',
  },
];

/** A small site with a start page, pages that link back, a sitemap and robots.txt. */
export function handleSite(response: ServerResponse, url: URL) {
  const origin = `http://${url.host}`;
  if (url.pathname === '/robots.txt') {
    return send(
      response,
      'text/plain',
      `User-agent: *\nDisallow: /v1/\nDisallow: /provider/\nSitemap: ${origin}/sitemap.xml\n`,
    );
  }
  if (url.pathname === '/sitemap.xml') {
    const entries = pages.map(({ path }) => `<url><loc>${origin}${path}</loc></url>`).join('');
    return send(
      response,
      'application/xml',
      `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${entries}</urlset>`,
    );
  }
  const page = pages.find(({ path }) => path === url.pathname);
  if (page === undefined) {
    response.writeHead(404, { 'content-type': 'text/plain' });
    return void response.end('The demo site has no such page');
  }
  send(response, 'text/html; charset=utf-8', htmlOf(page));
}

function send(response: ServerResponse, type: string, body: string): void {
  response.writeHead(200, { 'content-type': type });
  response.end(body);
}

function htmlOf({ title, text }: Page): string {
  const links = pages.map((page) => `<li><a href="${page.path}">${page.title}</a></li>`).join('');
  return (
    `<!doctype html><html lang="en"><head><title>${title}</title></head><body>` +
    `<main><h1>${title}</h1><p>${text}</p></main><nav><ul>${links}</ul></nav></body></html>`
  );
}
