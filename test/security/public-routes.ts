/** Public, because they show nothing of a tenant. */
export const publicRoutes: Record<string, string> = {
  '/*': 'the console’s page and files, the same for everybody',
  '/api/docs': 'a static page',
  '/api/docs/page.css': 'a static file',
  '/api/openapi.json': 'the description of the routes',
  '/docs': 'the pages that there are',
  '/llms.txt': 'the same pages',
  '/llms-full.txt': 'the same pages',
  '/health/live': 'a probe',
  '/health/ready': 'a probe',
  '/api/hooks/airbyte/:secret': 'takes a secret in its address, and that is its credential',
  '/api/session': 'takes a token or key, and that is its credential',
  '/login/ways': 'the name of the login provider, which the login page shows',
  '/login': 'takes a one-time code, and that is its credential',
  '/login/oidc': 'leads to the login provider',
  '/login/oidc/callback': 'takes a one-time code of the login provider, and that is its credential',
  '/metrics': 'has a credential of its own; without one only this machine may ask',
};
