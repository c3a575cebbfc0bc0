import { describe, expect, test } from 'vitest';
import {
  amzDate,
  authorizationOf,
  encodePercent,
  queryString,
  type SignedRequest,
  sha256Hex,
} from './signature.ts';

const emptyHash = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

function signatureOf(authorization: string): string {
  return authorization.slice(authorization.lastIndexOf('=') + 1);
}

describe('the examples that Amazon publishes', () => {
  const suiteKey = {
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
    region: 'us-east-1',
    service: 'service',
  };
  const suiteAt = new Date('2015-08-30T12:36:00Z');
  const suite = (changes: Partial<SignedRequest>) =>
    authorizationOf(
      {
        method: 'GET',
        host: 'example.amazonaws.com',
        path: '/',
        query: {},
        headers: { 'x-amz-date': '20150830T123600Z' },
        payloadHash: emptyHash,
        ...changes,
      },
      { key: suiteKey, at: suiteAt },
    );

  test('get-vanilla', () => {
    expect(suite({})).toBe(
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, ' +
        'SignedHeaders=host;x-amz-date, ' +
        'Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
    );
  });

  test('get-vanilla-query-order-key-case and post-vanilla', () => {
    const ordered = suite({ query: { Param2: 'value2', Param1: 'value1' } });
    expect(signatureOf(ordered)).toBe('b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500');
    expect(signatureOf(suite({ method: 'POST' }))).toBe(
      '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
    );
  });

  const s3Key = {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    region: 'us-east-1',
    service: 's3',
  };
  const s3At = new Date('2013-05-24T00:00:00Z');
  const s3 = (changes: Partial<SignedRequest>, payload = '') => {
    const payloadHash = sha256Hex(payload);
    const headers = { 'x-amz-content-sha256': payloadHash, 'x-amz-date': amzDate(s3At), ...changes.headers };
    const base = { method: 'GET', host: 'examplebucket.s3.amazonaws.com', path: '/', query: {} };
    return signatureOf(
      authorizationOf({ ...base, ...changes, headers, payloadHash }, { key: s3Key, at: s3At }),
    );
  };

  test('GET Object with a range', () => {
    expect(s3({ path: '/test.txt', headers: { range: 'bytes=0-9' } })).toBe(
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    );
  });

  test('PUT Object under a name with a dollar sign', () => {
    const headers = { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' };
    const put = { method: 'PUT', path: '/test%24file.text', headers };
    expect(s3(put, 'Welcome to Amazon S3.')).toBe(
      '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    );
  });

  test('GET Bucket lifecycle and a list of objects', () => {
    expect(s3({ query: { lifecycle: '' } })).toBe(
      'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
    );
    expect(s3({ query: { prefix: 'J', 'max-keys': '2' } })).toBe(
      '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    );
  });

  // As botocore 1.43 signs them, which is Amazon's own client.
  test.each([
    ['ünï/日本語/🎉.txt', '2b55b15a052bb520c045c162e064a8a1dec3fd8318ae9b8258236baa45438c3b'],
    ["!'()*~-_.$@,;:", '62796474f5cae0783e7e534b2a63f2df238b4299b0a0b12cccbf9a0693b082cf'],
    ['100%/%41/a?b#c', '55f57a0942e39512c73660d6d404b90fbf3b89ebff7d8707027fd2fe13abcdb6'],
    ['double//slash/', 'f2d5fb95b5ac717e985c1ab561c3cc7ce0817e20dda48bcad4945574aa1a0ae7'],
    ['tab\tnew\nline', '1e3ae4d0ca51a881b754b8067956d9ba86805a68f2537f8f84d39bc022f5d078'],
  ])('the key %j is signed as the official client does', (key, signature) => {
    const path = `/${key.split('/').map(encodePercent).join('/')}`;
    expect(s3({ path })).toBe(signature);
  });

  test('a session token and a query with spaces are signed as the official client does', () => {
    const path = `/${'a b+c/d&e=f.csv'.split('/').map(encodePercent).join('/')}`;
    const query = { prefix: 'a b/ü&', 'list-type': '2' };
    expect(s3({ path, query })).toBe('8f02f9d84c66b2721f52200fbd7aa8fcdaa679605984d02b301222fb48f7c98a');
    expect(s3({ path, query, headers: { 'x-amz-security-token': 'SESSION/TOKEN+==' } })).toBe(
      '7188fe0a743306f212dee20bdf16c2ff140d9cef5c4776637c29bbca4f9064f2',
    );
  });
});

test('a query is sorted by its encoded names, and a name without a value keeps its equals sign', () => {
  expect(queryString({ uploads: '', 'a b': 'c/d', Z: '~' })).toBe('Z=~&a%20b=c%2Fd&uploads=');
});
