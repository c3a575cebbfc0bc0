const mostRedirects = 15;

/** As much of a browser as a sign-in needs: it keeps cookies by host and path, and follows redirects. */
export class Browser {
  /** By host, path and name. */
  readonly #cookies = new Map<string, { host: string; path: string; name: string; value: string }>();

  copy(): Browser {
    const other = new Browser();
    for (const [key, cookie] of this.#cookies) other.#cookies.set(key, { ...cookie });
    return other;
  }

  change(name: string, edit: (value: string) => string): void {
    for (const cookie of this.#cookies.values()) if (cookie.name === name) cookie.value = edit(cookie.value);
  }

  async get(url: string, headers: Record<string, string> = {}): Promise<Response> {
    const target = new URL(url);
    const cookie = [...this.#cookies.values()]
      .filter(({ host, path }) => host === target.host && target.pathname.startsWith(path))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
    const reply = await fetch(target, {
      redirect: 'manual',
      headers: { accept: 'text/html', ...(cookie === '' ? {} : { cookie }), ...headers },
    });
    for (const line of reply.headers.getSetCookie()) this.#keep(target.host, line);
    return reply;
  }

  /** Returns the address of the last page, or the first one at which `stop` says so, which is not opened. */
  async follow(url: string, stop: (url: string) => boolean = () => false): Promise<string> {
    let at = url;
    for (let count = 0; count < mostRedirects; count += 1) {
      if (stop(at)) return at;
      const reply = await this.get(at);
      const location = reply.headers.get('location');
      await reply.arrayBuffer();
      if (location === null) return at;
      at = new URL(location, at).href;
    }
    throw new Error(`There are more than ${mostRedirects} redirects from ${url}`);
  }

  #keep(host: string, line: string): void {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
    const name = pair.slice(0, pair.indexOf('='));
    const value = pair.slice(pair.indexOf('=') + 1);
    const path = attributes.find((part) => /^path=/i.test(part))?.slice(5) ?? '/';
    const isGone = attributes.some((part) => /^max-age=0$/i.test(part)) || value === '';
    const key = `${host} ${path} ${name}`;
    if (isGone) this.#cookies.delete(key);
    else this.#cookies.set(key, { host, path, name, value });
  }
}
