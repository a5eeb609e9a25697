import type { HubState } from '../state/hub-state.ts';

export interface NatsServerSettings {
  /** An address, or the name of a variable that has it: `$POD_IP`. */
  readonly host: string;
  readonly port: number;
  readonly directory: string;
  /** Where agents also reach it over WebSocket; absent: nowhere. */
  readonly websocketPort?: number | undefined;
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Where it is one of several; absent: it is alone. */
  readonly cluster?: {
    readonly serverName: string;
    readonly routePort: number;
    /** `host:port` of all of them, its own among them. */
    readonly routes: readonly string[];
    /** What a server must show to be let in as one. */
    readonly caFile: string;
    /** Whether clients are told where the others are; not where only a load balancer can be reached. */
    readonly isToldToClients: boolean;
  };
  /** For a server that is only filled, and written out at the end by whoever fills it; and for measuring. */
  readonly withoutSync?: boolean | undefined;
}

/**
 * The configuration of the hub's NATS server. It holds no secret: JWTs of accounts, and files by path.
 *
 * - `sync_interval: always`: acknowledged means kept (principle 12).
 * - `timeout` of TLS and of authorization: whoever connects and says nothing is let go after 5 s; a busy machine gets that long.
 * - `ping_interval`: a frozen agent's connection is closed after about a minute; its heartbeats have told long before.
 * - `cluster`: the servers know each other by certificates of the hub's own CA, which signs nothing else. A server whose machine has
 *   lost its power is given up after about eight seconds: until then it is sent requests that nobody answers.
 * - `websocket`: off unless asked for. Without compression, which is an old way to exhaust a server; pages of other origins are refused.
 * - resolver `full`: account claims (revocations) are pushed while the server runs, and the newer ones win over the preload.
 */
export function natsServerConfig(hub: HubState, settings: NatsServerSettings): string {
  const preload = Object.entries(hub.accountJwts).map(([account, jwt]) => `  ${account}: "${jwt}"`);
  const { cluster, host } = settings;
  const listen = (port: number) => `host: ${host.startsWith('$') ? host : `"${host}"`}, port: ${port}`;
  const certificate = `cert_file: "${settings.certificateFile}", key_file: "${settings.keyFile}"`;
  const clusterBlock = cluster
    ? `cluster: {
  name: hub
  ${listen(cluster.routePort)}
  no_advertise: ${!cluster.isToldToClients}
  ping_interval: "2s", ping_max: 3
  routes: [${cluster.routes.map((route) => `"tls://${route}"`).join(', ')}]
  tls: { ${certificate}, ca_file: "${cluster.caFile}", verify: true, timeout: 5 }
}
`
    : '';
  const websocketBlock =
    settings.websocketPort === undefined
      ? ''
      : `websocket: {
  ${listen(settings.websocketPort)}
  tls: { ${certificate} }
  compression: false, same_origin: true, handshake_timeout: "5s"
}
`;
  return `# Written by rollcall at every start; changes here are lost.
${listen(settings.port)}
server_name: ${cluster?.serverName ?? 'hub'}
operator: "${hub.operatorJwt}"
system_account: ${hub.keys.sys}
resolver: { type: full, dir: "${settings.directory}/jwt", allow_delete: false, interval: "10s" }
resolver_preload: {
${preload.join('\n')}
}
default_sentinel: "${hub.sentinelJwt}"
jetstream: { store_dir: "${settings.directory}/jetstream", ${settings.withoutSync === true ? '' : 'sync_interval: always '}}
tls: { ${certificate}, handshake_first: true, timeout: 5 }
authorization: { timeout: 5 }
ping_interval: "20s"
ping_max: 2
max_payload: 4MB
lame_duck_duration: "30s"
${clusterBlock}${websocketBlock}`;
}
