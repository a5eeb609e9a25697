import {
  type HubAddress,
  type HubNetwork,
  parseHostAliases,
  parseProxy,
  proxyFor,
  proxyName,
} from '@rollcall/agent';
import { RollcallError } from '@rollcall/shared/errors';
import { readText } from './joining-flags.ts';

/** How the hub is reached from here, where its addresses alone do not do. */
export interface NetworkFlags {
  readonly hostAlias?: readonly string[];
  readonly proxy?: string;
  readonly proxyCaFile?: string;
}

/** The proxy as Secret rollcall-bootstrap has it: texts, those that say nothing left out. Names that no DNS knows are in the Pod. */
export interface NetworkTexts {
  /** Perhaps with credentials: a secret. */
  readonly proxy?: string | undefined;
  readonly noProxy?: string | undefined;
  readonly proxyCaBundle?: string | undefined;
}

function listOf(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** Those of the environment are meant for what is far away: a hub on this machine is none of it. */
const thisMachine = ['localhost', '127.0.0.0/8', '::1'] as const;

/** Upper case or lower case, as other programs take them. */
function variable(name: string, environment: NodeJS.ProcessEnv): string | undefined {
  return environment[name] || environment[name.toLowerCase()] || undefined;
}

/** The texts that count: flags over the Secret over the environment. */
export function networkTextsOf(
  flags: NetworkFlags,
  kept: NetworkTexts,
  environment: NodeJS.ProcessEnv,
): NetworkTexts {
  const { proxy: flag, proxyCaFile } = flags;
  const given = flag?.startsWith('file:') ? readText('--proxy', flag.slice('file:'.length)).trim() : flag;
  const proxy = given ?? kept.proxy ?? variable('HTTPS_PROXY', environment);
  const isOfEnvironment = given === undefined && kept.proxy === undefined;
  const noProxy = listOf(kept.noProxy ?? variable('NO_PROXY', environment));
  if (proxy === undefined) return {};
  return {
    proxy,
    noProxy: [...noProxy, ...(isOfEnvironment ? thisMachine : [])].join(','),
    proxyCaBundle: proxyCaFile === undefined ? kept.proxyCaBundle : readText('--proxy-ca-file', proxyCaFile),
  };
}

/**
 * How the hub is reached: what flags say, else the Secret, else the environment.
 * @throws RollcallError USAGE
 */
export function networkOf(flags: NetworkFlags, kept: NetworkTexts = {}): HubNetwork {
  const { proxy, noProxy, proxyCaBundle } = networkTextsOf(flags, kept, process.env);
  try {
    return {
      hostAliases: parseHostAliases(flags.hostAlias?.flatMap(listOf) ?? []),
      ...(proxy === undefined ? {} : { proxy: parseProxy(proxy), proxyCaPem: proxyCaBundle }),
      noProxy: listOf(noProxy),
    };
  } catch (cause) {
    throw new RollcallError('USAGE', cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/**
 * The same as values of the chart, for an agent that is installed elsewhere: the environment of this machine is not that of the
 * member.
 * @throws RollcallError USAGE
 */
export function networkValues(flags: NetworkFlags): Record<string, unknown> {
  const { hostAliases = {} } = networkOf(flags);
  const aliases = Object.entries(hostAliases).map(([name, ip]) => ({ ip, hostnames: [name] }));
  return {
    ...networkTextsOf(flags, {}, {}),
    ...(aliases.length === 0 ? {} : { hostAliases: aliases }),
  };
}

/** ` through the proxy …` for those addresses that are reached through one, without its credentials. */
export function throughProxy(addresses: readonly HubAddress[], network: HubNetwork): string {
  const proxies = addresses.flatMap((address) => proxyFor(address, network) ?? []);
  const [first] = proxies;
  if (first === undefined) return '';
  const some = proxies.length < addresses.length ? ', some of them' : '';
  return `${some} through the proxy ${proxyName(first)}`;
}
