import { expect, test } from 'vitest';
import { isExcepted, parseProxy, proxyName } from './proxy-url.ts';

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

test.each([
  { text: 'proxy:3128', want: { host: 'proxy', port: 3128, isTls: false } },
  { text: ' http://192.0.2.1:3128/ ', want: { host: '192.0.2.1', port: 3128, isTls: false } },
  { text: 'https://proxy.example.org', want: { host: 'proxy.example.org', port: 443, isTls: true } },
  { text: 'http://[2001:db8::1]:3128', want: { host: '2001:db8::1', port: 3128, isTls: false } },
  {
    text: 'http://me:p%40ss:w%2Frd@proxy:80',
    want: { host: 'proxy', port: 80, isTls: false, authorization: basic('me:p@ss:w/rd') },
  },
])('a proxy is read from what people write: $text', ({ text, want }) => {
  expect(parseProxy(text)).toEqual(want);
});

test.each(['', 'http://', 'socks5://proxy:1080', 'http://proxy:3128/path', 'http://proxy:99999', 'a b'])(
  '"%s" is no proxy',
  (text) => {
    expect(() => parseProxy(text)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  },
);

test('neither the name of a proxy nor the error about one says its password', () => {
  expect(proxyName(parseProxy('https://me:s3cret@proxy:3128'))).toBe('https://proxy:3128');
  expect(proxyName(parseProxy('http://me:s3cret@[::1]:3128'))).toBe('http://[::1]:3128');
  expect(() => parseProxy('ftp://me:s3cret@proxy')).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('s3cret') }),
  );
});

test.each([
  { pattern: '*', host: 'hub.example.org', want: true },
  { pattern: 'example.org', host: 'hub.EXAMPLE.org', want: true },
  { pattern: 'Example.org', host: 'example.org', want: true },
  { pattern: '.example.org', host: 'example.org', want: false },
  { pattern: '*.example.org', host: 'hub.example.org', want: true },
  { pattern: 'example.org', host: 'notexample.org', want: false },
  { pattern: 'hub.example.org:4222', host: 'hub.example.org', want: true },
  { pattern: 'hub.example.org:443', host: 'hub.example.org', want: false },
  { pattern: '192.0.2.7', host: '192.0.2.7', want: true },
  { pattern: '192.0.2.0/24', host: '192.0.2.7', want: true },
  { pattern: '192.0.2.0/24', host: '192.0.3.7', want: false },
  { pattern: '192.0.2.0/64', host: '192.0.2.7', want: false },
  { pattern: '2001:db8::/32', host: '2001:db8::7', want: true },
  { pattern: '[2001:db8::7]:4222', host: '2001:db8::7', want: true },
  { pattern: '2001:db8::7', host: '2001:DB8::7', want: true },
  { pattern: '', host: 'hub.example.org', want: false },
])('NO_PROXY=$pattern, hub $host:4222: without the proxy: $want', ({ pattern, host, want }) => {
  expect(isExcepted({ host, port: 4222 }, ['somewhere.else', pattern])).toBe(want);
});
