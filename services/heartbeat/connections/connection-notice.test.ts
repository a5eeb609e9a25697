import { createNkey, encodeJwt } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { memberOfNotice } from './connection-notice.ts';

const signer = createNkey('account');
const key = createNkey('user').publicKey;
const jwtOf = (name: string) => encodeJwt({ subject: key, name, nowMs: 1000, nats: {} }, signer);

function aNotice(client: object): string {
  return JSON.stringify({
    server: { id: 'NSERVER', name: 'hub-1' },
    client: { id: 7, user: key, jwt: jwtOf('c1'), ...client },
  });
}

test('a member is known by the name in its JWT', () => {
  expect(memberOfNotice(aNotice({ name: 'c2' }))).toEqual({
    clusterId: 'c1',
    key,
    serverId: 'NSERVER',
    serverName: 'hub-1',
    clientId: 7,
    isBeside: false,
  });
});

test.each([undefined, '', 'x'.repeat(129)])('a server whose name is %j is known by its id', (name) => {
  const notice = JSON.parse(aNotice({})) as object;
  const text = JSON.stringify({ ...notice, server: { id: 'NSERVER', name } });
  expect(memberOfNotice(text)).toMatchObject({ serverId: 'NSERVER', serverName: 'NSERVER' });
});

test.each([
  {
    name: 'of an agent that came through the callout',
    text: aNotice({ jwt: undefined, user: 'c1', name: 'c1' }),
  },
  { name: 'whose JWT speaks of another key', text: aNotice({ user: createNkey('user').publicKey }) },
  { name: 'with a name that is no safe id', text: aNotice({ jwt: jwtOf('*') }) },
  { name: 'with a JWT that is none', text: aNotice({ jwt: 'a.b.c' }) },
  { name: 'without a server', text: JSON.stringify({ client: { id: 7, user: key, jwt: jwtOf('c1') } }) },
  { name: 'that is no JSON', text: '{' },
  { name: 'that is null', text: 'null' },
])("a notice $name is no member's", ({ text }) => {
  expect(memberOfNotice(text)).toBeUndefined();
});
