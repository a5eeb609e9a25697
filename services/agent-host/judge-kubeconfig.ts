import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import { parseBoundedYaml } from '@rollcall/shared/config/bounded-yaml';
import { RollcallError } from '@rollcall/shared/errors';
import type { KubeAccess } from '@rollcall/shared/kubernetes';
import { type KubeconfigFile, readKubeconfigShape } from '@rollcall/shared/kubernetes/kubeconfig-shape';
import { type AddressJudge, endpointOf } from './refused-address.ts';

/** Far more than one cluster with its certificates needs. */
const maxChars = 262_144;

/** What a field would have the hub do; only what is listed here or allowed below is known at all. */
const refusedFields: Readonly<Record<string, string>> = {
  'certificate-authority': 'a path to a file',
  'client-certificate': 'a path to a file',
  'client-key': 'a path to a file',
  tokenFile: 'a path to a file',
  'insecure-skip-tls-verify': 'TLS that verifies nobody',
  'proxy-url': 'a proxy',
  exec: 'a credential plugin',
  'auth-provider': 'an authentication plugin',
  as: 'impersonation',
  'as-uid': 'impersonation',
  'as-groups': 'impersonation',
  'as-user-extra': 'impersonation',
  username: 'a password',
  password: 'a password',
};
const clusterFields = new Set([
  'server',
  'certificate-authority-data',
  'tls-server-name',
  'disable-compression',
  'extensions',
]);
const userFields = new Set(['token', 'client-certificate-data', 'client-key-data', 'extensions']);

function refused(problem: string): RollcallError {
  return new RollcallError('MEMBER_KUBECONFIG_REFUSED', `the kubeconfig ${problem}`);
}

/** `false` and nothing are what tools write where they mean nothing. */
const saysNothing = (value: unknown) =>
  value === undefined || value === null || value === false || value === '';

/** @throws RollcallError MEMBER_KUBECONFIG_REFUSED naming known fields only: an unknown one may be anything */
function checkFields(entry: object, allowed: ReadonlySet<string>): void {
  for (const [field, value] of Object.entries(entry)) {
    if (allowed.has(field) || saysNothing(value)) continue;
    const what = Object.hasOwn(refusedFields, field) ? refusedFields[field] : undefined;
    throw refused(
      what === undefined
        ? 'has a field that is not known; only inline credentials are taken'
        : `asks for ${what} (${field}); only inline credentials are taken`,
    );
  }
}

function parse(text: string): KubeconfigFile {
  if (text.length > maxChars) throw refused(`is longer than ${maxChars} characters`);
  let content: unknown;
  try {
    content = parseBoundedYaml(text);
  } catch {
    // The parser's words quote the text, which holds keys.
    throw refused('is not YAML, or too deep');
  }
  const shape = readKubeconfigShape(content);
  if ('problems' in shape) throw refused('does not have the shape of one');
  return shape;
}

function pem(data: string | undefined): string | undefined {
  return data === undefined ? undefined : Buffer.from(data, 'base64').toString('utf8');
}

/** Also that key and certificate belong together: else each connection would fail with the words of the TLS library. */
function checkPems(access: Pick<KubeAccess, 'caPem' | 'certPem' | 'keyPem'>): void {
  const { caPem, certPem, keyPem } = access;
  if ((certPem === undefined) !== (keyPem === undefined)) {
    throw refused('has a client certificate without a key, or a key without one');
  }
  // Without this the TLS library takes a text without any certificate for an empty list, and trusts nobody.
  if (caPem !== undefined && !caPem.includes('-----BEGIN CERTIFICATE-----'))
    throw refused('has no certificate where its CA should be');
  try {
    createSecureContext({ ca: caPem, cert: certPem, key: keyPem });
  } catch {
    throw refused('has certificates or a key that cannot be used');
  }
}

/** A name in a certificate or in DNS; anything else has no business in one. */
const hostName = /^[a-z0-9]([a-z0-9._-]{0,251}[a-z0-9])?$/;

/** @throws RollcallError MEMBER_KUBECONFIG_REFUSED; names are judged again, by address, when they are connected to */
function checkServer(server: string, judge: AddressJudge): void {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url?.protocol !== 'https:') throw refused('names a server that is no https address');
  const isPlain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!isPlain) throw refused('names a server with more than host, port and path');
  const { host, port } = endpointOf(url, 443);
  const { hub, allowLoopback } = judge.rules;
  if (isIP(host) !== 0) {
    const hubByAddress = hub.filter((endpoint) => isIP(endpoint.host) !== 0);
    const why = judge.whyRefused(host, port, hubByAddress);
    if (why !== undefined) throw refused(`names a server whose address is ${why}`);
    return;
  }
  if (!hostName.test(host)) throw refused('names a server with an odd name');
  const isLocal = host === 'localhost' || host.endsWith('.localhost');
  if (isLocal && !allowLoopback) throw refused('names a server whose address is a loopback address');
  if (hub.some((endpoint) => endpoint.host === host && (!isLocal || endpoint.port === port)))
    throw refused('names a server whose address is an address of the hub itself');
}

/**
 * Reads the kubeconfig that somebody put into a Secret for the hub to use. Whoever wrote it may be an attacker: it must carry
 * its credentials itself, and must not make the hub run, read, trust, become or reach anything that is not that member.
 * @returns access whose names are ours, so that none of it can be quoted by accident
 * @throws RollcallError MEMBER_KUBECONFIG_REFUSED, and nothing else, with no value of it in the message
 */
export function readMemberKubeconfig(text: string, judge: AddressJudge): KubeAccess {
  const file = parse(text);
  const current = file['current-context'];
  const context = file.contexts?.find(({ name }) => name === current)?.context;
  if (!current || context === undefined) throw refused('has no current context');
  const cluster = file.clusters?.find(({ name }) => name === context.cluster)?.cluster;
  const user = file.users?.find(({ name }) => name === context.user)?.user;
  if (cluster === undefined || user === undefined)
    throw refused('has a current context whose cluster or user is missing');
  checkFields(cluster, clusterFields);
  checkFields(user, userFields);
  checkServer(cluster.server, judge);
  const { token } = user;
  const serverName = cluster['tls-server-name'] || undefined;
  if (token !== undefined && !/^[\x21-\x7e]{1,16384}$/.test(token)) throw refused('has a token that is none');
  if (serverName !== undefined && !hostName.test(serverName.toLowerCase()))
    throw refused('has a TLS server name that is none');
  const pems = {
    caPem: pem(cluster['certificate-authority-data'] || undefined),
    certPem: pem(user['client-certificate-data'] || undefined),
    keyPem: pem(user['client-key-data'] || undefined),
  };
  checkPems(pems);
  if (token === undefined && pems.certPem === undefined) throw refused('has no credentials');
  return {
    server: cluster.server,
    ...pems,
    tlsServerName: serverName,
    token,
    namespace: 'default',
    clusterName: 'member',
    contextName: 'member',
    userName: 'member',
  };
}
