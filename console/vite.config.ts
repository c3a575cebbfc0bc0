import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// `npx vite` in this folder shows the sources as they are, against the server that SLUICE_URL names.
const server = process.env.SLUICE_URL ?? 'http://127.0.0.1:7400';

export default defineConfig({
  plugins: [react()],
  publicDir: false,
  build: {
    outDir: 'dist',
    target: 'es2022',
    // Everything is a file of its own: the server's policy allows no code or style inside the page.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: {
    // `/login` is the server's only with a code: without one it is the console's own page.
    proxy: { '/api': server, '/docs': server, '/health': server, '^/login\\?code=': server },
  },
});
