// Stands for a server of yours that has a report at an address: node examples/uploads/serve-report.mjs
import { createServer } from 'node:http';

const days = 3;
const dayMs = 86_400_000;

createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  if (pathname !== '/daily.csv') {
    response.writeHead(404).end();
    return;
  }
  const last = Date.parse(searchParams.get('to') ?? '');
  const rows = Array.from({ length: days }, (_, at) => {
    const day = new Date(last - at * dayMs).toISOString().slice(0, 10);
    return `Autumn sale,120210003,${day},700,7.00`;
  });
  response.writeHead(200, { 'content-type': 'text/csv' });
  response.end(['Campaign name,Campaign ID,Day,Impressions,Amount spent (EUR)', ...rows, ''].join('\n'));
}).listen(Number(process.env.REPORT_PORT ?? 7500), '127.0.0.1');
