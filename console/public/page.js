// The page at `/`: asks the server what is running and who is looking.
const element = (id) => document.getElementById(id);

async function ask(path) {
  const answer = await fetch(path, { headers: { accept: 'application/json' } });
  return { status: answer.status, body: await answer.json() };
}

function show(id, text) {
  element(id).textContent = text;
}

function notice(text) {
  show('notice', text);
  element('notice').hidden = false;
}

async function showVersion() {
  const { body } = await ask('/health/live');
  show('version', body.version);
}

async function showHealth() {
  const { body } = await ask('/health/ready');
  const lines = Object.entries(body.checks).map(([name, check]) => {
    const line = document.createElement('li');
    line.textContent = `${name}: ${check.state}${check.detail ? ` (${check.detail})` : ''}`;
    return line;
  });
  element('health').replaceChildren(...lines);
}

async function showWho() {
  const { status, body } = await ask('/api/me');
  if (status !== 200) {
    show('who', 'not logged in; open the login link that the server printed at its start');
    return;
  }
  show('who', `${body.user_id}, ${body.role} of tenant ${body.tenant_id} (plan ${body.plan})`);
  element('logout').hidden = body.via !== 'session';
}

element('logout').addEventListener('click', async () => {
  await fetch('/api/session/logout', { method: 'POST' });
  location.assign('/');
});

if (new URLSearchParams(location.search).get('login') === 'refused') {
  notice('That login link does not work any more: it works once and for 30 minutes.');
}

for (const task of [showVersion, showHealth, showWho]) {
  task().catch(() => notice('The server does not answer. Reload the page to try again.'));
}
