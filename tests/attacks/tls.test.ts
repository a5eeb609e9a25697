import { readFileSync } from 'node:fs';
import { connect as connectTcp, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { spkiPin } from '@rollcall/shared/trust';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startAgent } from '../../agent/tests/agent-under-test.ts';
import { decideAs, declareToken } from '../harness/events.ts';
import { connectWithToken } from '../harness/raw-agent.ts';
import { aJoin, askToJoin } from '../harness/join.ts';
import { type AttackedRegistrar, startAttackedRegistrar } from './attacked-registrar.ts';
import { aLeaf, anotherCa, type Impostor, plainImpostor, tlsImpostor } from './impostor.ts';

/** A real hub to be impersonated: its CA's key is in its state directory, for those who have stolen even that. */
let world: AttackedRegistrar;
beforeAll(async () => {
  world = await startAttackedRegistrar();
});
afterAll(() => world[Symbol.asyncDispose]());

type CertificateWithKey = ReturnType<typeof anotherCa>;
const dayMs = 86_400_000;
const hubCa = (): CertificateWithKey => ({
  certificatePem: world.hub.hub.caPem,
  privateKeyPem: readFileSync(join(world.hub.stateDir, 'nats', 'ca-key.pem'), 'utf8'),
});

interface Impersonation {
  readonly name: string;
  readonly start: () => Promise<Impostor>;
  readonly code: string;
  /** What the agent was given to know its hub by; default: both, one after the other. */
  readonly by?: 'ca' | 'pin';
}

const plainNats = 'INFO {"server_id":"X","version":"2.15.2","nonce":"n","auth_required":true}\r\n';
const impersonations: readonly Impersonation[] = [
  {
    name: 'a certificate that has expired',
    start: () => tlsImpostor(aLeaf(hubCa(), { beginsInMs: -dayMs }), { shown: hubCa().certificatePem }),
    code: 'HUB_CERT_EXPIRED',
  },
  {
    name: 'a certificate that is not valid yet',
    start: () => tlsImpostor(aLeaf(hubCa(), { beginsInMs: dayMs / 2 }), { shown: hubCa().certificatePem }),
    code: 'HUB_CERT_EXPIRED',
  },
  {
    name: 'the right name by another CA',
    start() {
      const ca = anotherCa();
      return tlsImpostor(aLeaf(ca), { shown: ca.certificatePem });
    },
    code: 'HUB_CA_WRONG',
  },
  {
    name: 'the right name by another CA that it does not show',
    start: () => tlsImpostor(aLeaf(anotherCa())),
    code: 'HUB_CA_WRONG',
  },
  {
    name: 'the right CA, for another address',
    start: () => tlsImpostor(aLeaf(hubCa(), { ipAddress: '127.0.0.2' }), { shown: hubCa().certificatePem }),
    code: 'HUB_CERT_NAME',
  },
  {
    name: 'a leaf of its own with the hub’s CA appended',
    start: () => tlsImpostor(aLeaf(anotherCa()), { shown: hubCa().certificatePem }),
    code: 'HUB_CA_WRONG',
  },
  {
    name: 'a leaf of its own between two of the hub’s CA',
    start() {
      const ca = anotherCa();
      const shown = hubCa().certificatePem + ca.certificatePem + hubCa().certificatePem;
      return tlsImpostor(aLeaf(ca), { shown });
    },
    code: 'HUB_CA_WRONG',
  },
  {
    name: 'the very certificate of the CA as its own, with its key',
    start: () => tlsImpostor(hubCa()),
    code: 'HUB_CA_WRONG',
  },
  {
    name: 'a CA of the same name that signs for itself',
    start: () => tlsImpostor(anotherCa()),
    code: 'HUB_CA_WRONG',
  },
  { name: 'a NATS server without TLS', start: () => plainImpostor(plainNats), code: 'HUB_NOT_TLS' },
  {
    name: 'a NATS server that promises TLS after a plain greeting',
    start: () => plainImpostor(plainNats.replace('}', ',"tls_required":true}')),
    code: 'HUB_NOT_TLS',
  },
  {
    name: 'a web server',
    start: () => plainImpostor('HTTP/1.1 400 Bad Request\r\n\r\n'),
    code: 'HUB_NOT_TLS',
  },
  ...(['TLSv1.2', 'TLSv1.1'] as const).map((maxVersion) => ({
    name: `${maxVersion} at most, with a certificate that is right`,
    start: () => tlsImpostor(aLeaf(hubCa()), { shown: hubCa().certificatePem, maxVersion }),
    code: 'HUB_TLS_OLD',
  })),
  {
    name: 'a proxy that ends TLS and hands everything on to the hub',
    start() {
      const ca = anotherCa();
      const [host = '', port] = (world.hub.address.servers[0] ?? '').split(':');
      const upstream = () => connectTls({ host, port: Number(port), ca: world.hub.address.caPem });
      return tlsImpostor(aLeaf(ca), { shown: ca.certificatePem, upstream });
    },
    code: 'HUB_CA_WRONG',
  },
];

describe('an agent with a token meets', () => {
  test.each(impersonations.flatMap((one) => (['ca', 'pin'] as const).map((by) => ({ ...one, by }))))(
    '$name, knowing its hub by its $by: $code, and tells it nothing',
    async ({ start, code, by }) => {
      await using impostor = await start();
      const token = await declareToken(world.approverLog, world.hub.hub.hubId);
      const clientId = `meets-${token.key.publicKey.slice(1, 20).toLowerCase()}`;
      const { result: refused, events } = await world.eventsDuring(async () => {
        await using met = await startAgent(world.hub, {
          hub: [impostor.address],
          trust:
            by === 'ca' ? { caPem: world.hub.address.caPem } : { pins: [spkiPin(world.hub.address.caPem)] },
          token: token.text,
          clientId,
        });
        return await met.heard.next(({ detail }) => detail.code !== undefined);
      });
      expect(refused.detail.code).toBe(code);
      const { raw, throughTls } = impostor.heard();
      // A certificate is judged before a word is said; without TLS there is the client's hello, which names nobody.
      expect(throughTls).toBe('');
      for (const secret of [token.text.slice(21), token.key.publicKey, token.key.seed, clientId, 'CONNECT'])
        expect(raw).not.toContain(secret);
      expect(events).toEqual([]);
      expect(await world.uses(token)).toBe(0);
    },
  );
});

describe('a member whose hub is replaced after the first contact', () => {
  const replaced = impersonations.filter(({ name }) =>
    /another CA$|without TLS|TLSv1.2|expired|proxy|another address/.test(name),
  );
  test.each(replaced)('by $name: $code, it keeps what it has, and goes back', async ({ start, code }) => {
    const token = await declareToken(world.approverLog, world.hub.hub.hubId);
    const clientId = `member-${token.key.publicKey.slice(1, 20).toLowerCase()}`;
    const first = await startAgent(world.hub, {
      token: token.text,
      clientId,
      trust: { pins: [spkiPin(world.hub.address.caPem)] },
    });
    await first.heard.next(({ phase }) => phase === 'waiting');
    await decideAs(world.approverLog, clientId, 'approved');
    await first.agent.admitted();
    const state = () => readFileSync(join(first.directory, 'agent-state'), 'utf8');
    await using impostor = await start();
    const deceived = await first.runAgain({ hub: [impostor.address] });
    const before = state();
    const refused = await deceived.heard.next(({ detail }) => detail.code !== undefined);
    expect(refused.detail.code).toBe(code);
    expect(impostor.heard().throughTls).toBe('');
    const { member, seed } = JSON.parse(before.split('\n')[1] ?? '') as {
      member: { jwt: string };
      seed: string;
    };
    for (const secret of [member.jwt, seed, clientId, 'CONNECT'])
      expect(impostor.heard().raw).not.toContain(secret);
    expect(state()).toBe(before);
    await using back = await deceived.runAgain({ hub: world.hub.address.servers });
    await back.agent.admitted();
    expect((await world.cluster(clientId)).identity?.state).toBe('admitted');
  });
});

describe('whoever reaches the port of the hub', () => {
  const place = () => {
    const [host = '', port] = (world.hub.address.servers[0] ?? '').split(':');
    return { host, port: Number(port) };
  };
  function tracked<Kind extends Socket>(socket: Kind): Kind {
    onTestFinished(() => void socket.destroy());
    return socket.on('error', () => undefined) as Kind;
  }
  const closed = (socket: Socket) =>
    new Promise<void>((resolve) => {
      if (socket.closed) return resolve();
      // Its end is only noticed by who reads.
      socket.once('close', () => resolve()).resume();
    });
  async function secure(options: object = {}): Promise<TLSSocket> {
    const socket = tracked(connectTls({ ...place(), ca: world.hub.address.caPem, ...options }));
    await new Promise<void>((resolve) => void socket.once('secureConnect', resolve));
    return socket;
  }
  /** The hub serves others all the while. */
  async function expectOthersJoin(): Promise<void> {
    const token = await declareToken(world.approverLog, world.hub.hub.hubId);
    await using agent = await connectWithToken(world.hub, token);
    expect((await askToJoin(agent, token, aJoin(token))).kind).toBe('waiting');
  }

  test('hears nothing without TLS, and is let go', async () => {
    const socket = tracked(connectTcp(place()));
    let heard = '';
    socket.on('data', (data: Buffer) => void (heard += data.toString('latin1')));
    socket.write('CONNECT {"verbose":true}\r\nPING\r\n');
    await closed(socket);
    expect(heard).not.toMatch(/INFO|PONG|nonce/);
    await expectOthersJoin();
  });

  test.each(['TLSv1.1', 'TLSv1'] as const)('is refused with %s at most', async (maxVersion) => {
    const options = { ...place(), ca: world.hub.address.caPem, minVersion: 'TLSv1', maxVersion } as const;
    const socket = connectTls({ ...options, ciphers: 'DEFAULT@SECLEVEL=0' });
    onTestFinished(() => void socket.destroy());
    const error = await new Promise<NodeJS.ErrnoException>((resolve, reject) => {
      socket.once('error', resolve).once('secureConnect', () => reject(new Error('the hub speaks it')));
    });
    expect(error.code).toMatch(/ERR_SSL_/);
  });

  test('cannot hold connections open that say nothing, or a byte at a time, and nobody waits behind them', async () => {
    const silent = Array.from({ length: 100 }, () => tracked(connectTcp(place())));
    const slow = Array.from({ length: 100 }, () => tracked(connectTcp(place())));
    const half = await Promise.all(Array.from({ length: 20 }, () => secure()));
    const drops = setInterval(() => {
      for (const socket of slow) if (socket.writable) socket.write(Uint8Array.of(0x16));
    }, 500);
    onTestFinished(() => clearInterval(drops));
    await expectOthersJoin();
    await Promise.all([...silent, ...slow, ...half].map(closed));
    await expectOthersJoin();
  });

  test.each([
    { name: 'another protocol', line: 'GET / HTTP/1.1\r\nHost: hub\r\n\r\n' },
    { name: 'a CONNECT of 1 MiB', line: `CONNECT {"name":"${'x'.repeat(1_048_576)}"}\r\n` },
    { name: 'a CONNECT that is no JSON', line: 'CONNECT {{{{\r\n' },
    { name: 'a CONNECT that nests', line: `CONNECT ${'{"a":'.repeat(600)}1${'}'.repeat(600)}\r\n` },
    { name: 'no CONNECT at all', line: 'SUB > 1\r\nPUB rollcall.events.hub.one.outage 2\r\n{}\r\n' },
    { name: 'a CONNECT with nothing to show', line: 'CONNECT {"verbose":false}\r\nSUB > 1\r\nPING\r\n' },
    {
      name: 'a CONNECT that names the account',
      line: 'CONNECT {"account":"HUB","user":"registrar"}\r\nPING\r\n',
    },
  ])('says $name: the connection ends, nothing is served, others join', async ({ line }) => {
    const { events } = await world.eventsDuring(async () => {
      const socket = await secure();
      let heard = '';
      socket.on('data', (data: Buffer) => void (heard += data.toString('latin1')));
      socket.write(line);
      await closed(socket);
      expect(heard).not.toMatch(/\nPONG|\nMSG/);
    });
    expect(events).toEqual([]);
    await expectOthersJoin();
  });
});
