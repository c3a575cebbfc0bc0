import type { Readable } from 'node:stream';
import { isSluiceError, messageOf } from '../../../../lib/errors.ts';
import type { FetchAnswer, FetchOptions, GuardedFetch } from '../../../../lib/fetch/guarded-fetch.ts';
import { openTemporary, type TemporaryFile } from '../../../../lib/formats/spool.ts';
import { gitErrors } from './errors.ts';
import { delimiter, flush, lineOf, packet, readPackets } from './packet-lines.ts';

export interface GitServer {
  url: string;
  fetch: GuardedFetch;
  /** The header that logs in; null: none. */
  authorization: string | null;
  maxPackBytes: number;
  signal: AbortSignal;
}

export interface GitHead {
  commit: string;
  /** The branch, tag or `HEAD`, without `refs/heads/`. */
  name: string;
}

const askTimeoutMs = 30_000;
const packTimeoutMs = 30 * 60_000;
const maxAnswerBytes = 64 * 1024 * 1024;
const oid = /^[0-9a-f]{40}$/;

/** A session of Git's protocol 2 over HTTP, which needs no program beside this one. */
export class UploadPack {
  readonly #server: GitServer;
  /** Without a slash at its end; after redirects of the first request. */
  #base: string;
  #canFilter = false;

  private constructor(server: GitServer) {
    this.#server = server;
    this.#base = server.url.replace(/\/+$/, '');
  }

  static async open(server: GitServer): Promise<UploadPack> {
    const session = new UploadPack(server);
    await session.#greet();
    return session;
  }

  async #greet(): Promise<void> {
    const service = '/info/refs?service=git-upload-pack';
    const answer = await this.#send(`${this.#base}${service}`, {
      timeoutMs: askTimeoutMs,
      maxBytes: maxAnswerBytes,
      // A token stays with the server that it was given for.
      maxRedirects: this.#server.authorization === null ? 3 : 0,
    });
    const lines: string[] = [];
    for await (const each of readPackets(answer.body))
      if (each.kind === 'data') lines.push(lineOf(each.data));
    if (!lines.includes('version 2')) {
      throw gitErrors.raise.git_protocol_unknown(`${this.#base} does not speak protocol 2 of Git`);
    }
    if (lines.some((line) => line.startsWith('object-format=') && line !== 'object-format=sha1')) {
      throw gitErrors.raise.git_protocol_unknown('Repositories with SHA-256 names cannot be read');
    }
    this.#canFilter = lines.some((line) => /^fetch=.*\bfilter\b/.test(line));
    const end = answer.finalUrl.indexOf(service);
    if (end > 0) this.#base = answer.finalUrl.slice(0, end);
  }

  /** The commit of a branch or tag; null: of the branch that the repository shows first. */
  async findHead(ref: string | null): Promise<GitHead> {
    const wanted = ref === null ? ['HEAD'] : [`refs/heads/${ref}`, `refs/tags/${ref}`];
    const body = [
      packet('command=ls-refs'),
      delimiter,
      packet('peel'),
      packet('symrefs'),
      ...wanted.map((name) => packet(`ref-prefix ${name}`)),
      flush,
    ].join('');
    const answer = await this.#post(body, { timeoutMs: askTimeoutMs, maxBytes: maxAnswerBytes });
    const found = new Map<string, GitHead>();
    for await (const each of readPackets(answer.body)) {
      if (each.kind !== 'data') break;
      const [id = '', name = '', ...attributes] = lineOf(each.data).split(' ');
      const attribute = (key: string) => attributes.find((text) => text.startsWith(key))?.slice(key.length);
      const target = attribute('symref-target:') ?? name;
      const commit = attribute('peeled:') ?? id;
      if (oid.test(commit)) found.set(name, { commit, name: target.replace(/^refs\/(?:heads|tags)\//, '') });
    }
    const head = wanted.map((name) => found.get(name)).find((each) => each !== undefined);
    if (head !== undefined) return head;
    const what = ref === null ? 'a first branch' : `a branch or tag ${JSON.stringify(ref)}`;
    throw gitErrors.raise.git_repository_not_found(`${this.#base} has not ${what}`);
  }

  /** All files of one commit without its history, as a temporary file; without larger ones, if the server can. */
  async fetchPack(commit: string, { maxFileBytes }: { maxFileBytes: number }): Promise<TemporaryFile> {
    const body = [
      packet('command=fetch'),
      delimiter,
      packet('no-progress'),
      packet('ofs-delta'),
      packet('deepen 1'),
      ...(this.#canFilter ? [packet(`filter blob:limit=${maxFileBytes + 1}`)] : []),
      packet(`want ${commit}`),
      packet('done'),
      flush,
    ].join('');
    const maxBytes = this.#server.maxPackBytes;
    const answer = await this.#post(body, { timeoutMs: packTimeoutMs, maxBytes });
    const file = await openTemporary();
    try {
      await this.#savePack(answer.body, file);
      return file;
    } catch (error) {
      await file.close();
      throw this.#inWords(error);
    }
  }

  async #savePack(content: Readable, file: TemporaryFile): Promise<void> {
    let section: string | null = null;
    for await (const each of readPackets(content)) {
      this.#server.signal.throwIfAborted();
      if (each.kind !== 'data') {
        section = null;
      } else if (section !== 'packfile') {
        const line = lineOf(each.data);
        if (line.startsWith('ERR ')) throw this.#said(line.slice(4));
        section ??= line;
      } else if (each.data[0] === 1) {
        await file.append(each.data.subarray(1));
      } else if (each.data[0] === 3) {
        throw this.#said(each.data.toString('utf8', 1));
      }
    }
  }

  #said(text: string): Error {
    return gitErrors.raise.git_server_failed(`${this.#base} says: ${text.trim().slice(0, 300)}`);
  }

  #post(body: string, options: FetchOptions): Promise<FetchAnswer<Readable>> {
    return this.#send(`${this.#base}/git-upload-pack`, {
      ...options,
      method: 'POST',
      body,
      maxRedirects: 0,
      headers: { 'content-type': 'application/x-git-upload-pack-request' },
    });
  }

  async #send(url: string, options: FetchOptions): Promise<FetchAnswer<Readable>> {
    const { fetch, authorization, signal } = this.#server;
    const headers = { 'git-protocol': 'version=2', ...(authorization === null ? {} : { authorization }) };
    let answer: FetchAnswer<Readable>;
    try {
      answer = await fetch.stream(url, { ...options, headers: { ...headers, ...options.headers }, signal });
    } catch (error) {
      if (signal.aborted) throw error;
      throw this.#inWords(error);
    }
    if (answer.status === 200) return answer;
    answer.body.destroy();
    throw this.#refusal(answer.status);
  }

  #inWords(error: unknown): unknown {
    if (!isSluiceError(error) || error.code in gitErrors.definitions) return error;
    const { raise } = gitErrors;
    if (error.code === 'response_too_large') {
      const most = this.#server.maxPackBytes;
      const message = `The files of ${this.#base} are packed in more than ${most} bytes, which is the limit`;
      return raise.git_repository_too_large(message, { cause: error });
    }
    const message = `${this.#base} cannot be read: ${messageOf(error)}`;
    const { kind } = error;
    return (kind === 'transient' ? raise.git_server_failed : raise.git_repository_not_found)(message, {
      cause: error,
    });
  }

  #refusal(status: number): Error {
    const { raise } = gitErrors;
    const message = `${this.#base} answered ${status}`;
    const hasToken = this.#server.authorization !== null;
    if ((status === 401 || status === 403) && hasToken) return raise.git_unauthorized(message);
    if (status === 429 || status >= 500) return raise.git_server_failed(message);
    return raise.git_repository_not_found(message);
  }
}
