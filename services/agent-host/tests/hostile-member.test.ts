import { once } from 'node:events';
import { createServer as createTcpServer } from 'node:net';
import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Facts, factsSchema } from '@rollcall/shared/bus';
import { createKubeClient, type KubeAccess, resources } from '@rollcall/shared/kubernetes';
import { createCa, issueCertificate } from '@rollcall/shared/trust';
import { afterEach, describe, expect, test } from 'vitest';
import { type MemberApi, openMemberApi } from '../../../agent/facts/member-api.ts';
import { followMember } from '../../../agent/facts/member-facts.ts';
import { createResponseBudget } from '../response-budget.ts';
import { createCautiousLookup } from '../guarded-lookup.ts';
import { failureWords } from '../failure-words.ts';
import { createAddressJudge } from '../refused-address.ts';
import { tryMember } from '../try-member.ts';

/** What a server of an attacker says about itself; none of it may come out anywhere. */
const marker = 'words-of-the-member';
const nowMs = Date.now();
const ca = createCa({ commonName: `CA ${marker}`, validForDays: 2, nowMs });
const certificateFor = (dnsNames: string[], ipAddresses: string[]) =>
  issueCertificate({
    ca,
    commonName: marker,
    dnsNames,
    ipAddresses,
    usages: ['server'],
    validForMs: 3_600_000,
    nowMs,
  });

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

const judge = createAddressJudge({ allowLoopback: true, hub: [], refusedRanges: [] });

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

function accessTo(port: number, host = '127.0.0.1'): KubeAccess {
  return {
    server: `https://${host}:${port}`,
    caPem: ca.certificatePem,
    token: 'token-for-the-member',
    namespace: 'default',
    clusterName: 'member',
    contextName: 'member',
    userName: 'member',
    caution: {
      lookup: createCautiousLookup(judge)(port),
      maxResponseBytes: 65_536,
      spend: createResponseBudget({ maxBytes: 1_048_576, windowMs: 60_000, nowMs: () => performance.now() }),
    },
  };
}

async function aMember(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  certificate = certificateFor(['localhost'], ['127.0.0.1']),
): Promise<KubeAccess> {
  const server = createServer({ cert: certificate.certificatePem, key: certificate.privateKeyPem }, answer);
  return accessTo(await listening(server));
}

const options = { fieldManager: 'test', userAgent: 'test' };

async function factsOf(member: MemberApi): Promise<Facts> {
  const ending = new AbortController();
  const how = { agentVersion: 'test', settings: {}, lookAgainMs: 60_000, signal: ending.signal };
  const facts = await followMember(member, how).read();
  ending.abort();
  return facts;
}
const hosting = { clusterId: 'id-1', clientId: 'id-1' };

/** The whole error, with all that it was caused by. */
function everyWord(thrown: unknown): string {
  const words: string[] = [];
  for (let at = thrown; at instanceof Error; at = at.cause) words.push(at.message);
  return words.join(' | ');
}

async function failureOf(access: KubeAccess) {
  const client = createKubeClient(access, options);
  try {
    await tryMember(client, hosting);
    throw new Error('it was taken for a member');
  } catch (error) {
    const words = failureWords(error);
    const isQuoted = `${words.reason} ${words.message}`.includes(marker);
    return isQuoted ? { reason: 'Quoted', message: words.message } : words;
  } finally {
    client.close();
  }
}

describe('a hostile member costs little and is never quoted', () => {
  test('an answer without end is cut off', async () => {
    const access = await aMember((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = () => {
        while (!response.destroyed && response.write(marker.repeat(500)));
      };
      response.on('drain', more);
      more();
    });
    expect((await failureOf(access)).reason).toBe('ResponseTooLarge');
  });

  test('one that is no JSON, and full of words', async () => {
    const access = await aMember((_, response) => response.end(`<html>${marker}</html>`));
    expect(await failureOf(access)).toMatchObject({ reason: 'MemberUnreachable' });
  });

  test('a redirect is followed nowhere', async () => {
    let asked = 0;
    const access = await aMember((_, response) => {
      asked++;
      response.writeHead(302, { location: 'https://169.254.169.254/latest/meta-data' }).end();
    });
    expect((await failureOf(access)).reason).toBe('MemberUnreachable');
    expect(asked).toBe(1);
  });

  test('a refusal with words of its own', async () => {
    const status = { kind: 'Status', code: 403, reason: marker, message: marker, details: { name: marker } };
    const access = await aMember((_, response) => response.writeHead(403).end(JSON.stringify(status)));
    expect((await failureOf(access)).reason).toBe('MemberForbidden');
    const client = createKubeClient(access, options);
    const thrown = await client
      .create(
        { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true },
        {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: 'a', namespace: 'a' },
        },
      )
      .catch((error: unknown) => error);
    client.close();
    expect(everyWord(thrown)).not.toContain(marker);
  });

  test('a certificate for another name, whose names are an attacker’s', async () => {
    const access = await aMember(() => undefined, certificateFor([`${marker}.example`], []));
    const { reason, message } = await failureOf(access);
    expect({ reason, message }).toEqual({
      reason: 'CertificateRefused',
      message:
        'the certificate that the API server of the member shows is not one that its kubeconfig trusts',
    });
  });

  test('one that the hub sees no certificate of, because it speaks another protocol', async () => {
    const server = createTcpServer((socket) => socket.end(`${marker}\r\n`)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    closers.push(() => server.close());
    const { reason } = await failureOf(accessTo((server.address() as AddressInfo).port));
    expect(['CertificateRefused', 'MemberUnreachable']).toContain(reason);
  });

  test('lists of nodes that never end, and nodes that are none, are no facts', async () => {
    let pages = 0;
    const access = await aMember((request, response) => {
      if (request.url?.startsWith('/api/v1/nodes')) pages++;
      const items = Array.from({ length: 100 }, () => ({ metadata: { name: marker.repeat(5) } }));
      response.end(JSON.stringify({ items, metadata: { continue: `more-${pages}` } }));
    });
    const member = openMemberApi(access, 'test');
    const facts = await factsOf(member);
    member.close();
    expect(facts.nodes).toBeUndefined();
    expect(pages).toBeLessThan(100);
  });

  test.each([
    { name: 'empty', items: [], most: 101 },
    { name: 'of one node', items: [{ metadata: { name: 'n' } }], most: 64 },
  ])(
    'pages without end that are $name cost no more requests than are in the budget',
    async ({ items, most }) => {
      let pages = 0;
      const access = await aMember((_, response) => {
        pages++;
        response.end(JSON.stringify({ items, metadata: { continue: `more-${pages}` } }));
      });
      const member = openMemberApi(access, 'test');
      const facts = await factsOf(member);
      member.close();
      expect(facts.nodes).toBeUndefined();
      expect(pages).toBeLessThanOrEqual(most);
    },
  );

  test('a list that goes on with the page that it has just given, or with nothing, ends', async () => {
    for (const next of [() => 'the same', (pages: number) => `more-${pages}`]) {
      let pages = 0;
      const access = await aMember((_, response) => {
        pages++;
        response.end(JSON.stringify({ items: [], metadata: { continue: next(pages) } }));
      });
      const client = createKubeClient({ ...access, caution: undefined }, options);
      await expect(client.list(resources.configMaps)).rejects.toMatchObject({ code: 'KUBE_UNREACHABLE' });
      client.close();
      expect(pages).toBeLessThanOrEqual(101);
    }
  });

  test('ranges that no text can be made of are none', async () => {
    const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`;
    const access = await aMember((_, response) =>
      response.end(
        `{"items":[{"spec":{"cidrs":[{"toString":1,"valueOf":1},${deep},"10.0.0.0/8"]}}],"metadata":{}}`,
      ),
    );
    const member = openMemberApi(access, 'test');
    const facts = await factsOf(member);
    member.close();
    expect(facts.serviceCIDRs).toEqual(['10.0.0.0/8']);
  });

  test('facts that are of no kind at all are left out, and the hub takes the rest', async () => {
    const odd: unknown[] = [null, 1, 'x', [], [null], {}, { a: null }, [{ type: 1 }], 'x'.repeat(300)];
    for (let turn = 0; turn < odd.length; turn++) {
      let next = turn;
      const anything = () => odd[next++ % odd.length];
      const access = await aMember((request, response) => {
        const items = Array.from({ length: 30 }, (_, index) => ({
          metadata: { name: index % 2 === 0 ? anything() : `n${index}`, labels: anything() },
          spec: { podCIDRs: anything(), providerID: anything(), cidrs: anything(), value: anything() },
          status: { capacity: anything(), allocatable: anything(), conditions: anything() },
        }));
        const list = { items, versions: [{ version: 'v1alpha1' }], metadata: {} };
        const version = { gitVersion: anything(), platform: anything() };
        response.end(JSON.stringify(request.url === '/version' ? version : list));
      });
      const member = openMemberApi(access, 'test');
      const facts = await factsOf(member);
      member.close();
      expect(factsSchema.parse(facts)).toEqual(facts);
      expect(facts.nodes?.total).toBeGreaterThan(15);
    }
  });
});

test('an address that a name has only when it is connected to is judged then', async () => {
  const certificate = certificateFor(['member.example'], []);
  let connections = 0;
  const server = createServer({ cert: certificate.certificatePem, key: certificate.privateKeyPem });
  server.on('connection', () => connections++);
  const port = await listening(server);
  const strict = createAddressJudge({ allowLoopback: false, hub: [], refusedRanges: [] });
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
  const access = accessTo(port, 'member.example');
  const lookup = createCautiousLookup(strict, { resolve })(port);
  const { reason } = await failureOf({
    ...access,
    caution: { lookup, maxResponseBytes: 1024, spend: () => true },
  });
  expect(reason).toBe('AddressRefused');
  expect(connections).toBe(0);
});
