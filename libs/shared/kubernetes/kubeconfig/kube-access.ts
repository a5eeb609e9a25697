import type { LookupFunction } from 'node:net';

/**
 * Where an API server is and who we are there; plain data, made by `loadKubeAccess` or the control plane launcher.
 * There is no way to skip verifying the server: without `caPem` the system's roots are used.
 */
export interface KubeAccess {
  /** `https://host:port`, perhaps with a path. */
  readonly server: string;
  readonly caPem?: string | undefined;
  /** The name to verify the server's certificate against, if not that of `server`. */
  readonly tlsServerName?: string | undefined;
  /** A bearer token, or how to get the current one: token files and plugins rotate theirs. */
  readonly token?: string | TokenSource | undefined;
  readonly certPem?: string | undefined;
  readonly keyPem?: string | undefined;
  /** The namespace that is meant where none is given. */
  readonly namespace: string;
  /** Names from the kubeconfig, to say which cluster is acted on. */
  readonly clusterName: string;
  readonly contextName: string;
  readonly userName: string;
  /** For a server that somebody else has named: it may be hostile. */
  readonly caution?: Caution | undefined;
}

/** How a server is spoken to that is not trusted: what it says is bounded, and never quoted in an error. */
export interface Caution {
  /** Finds the addresses of its name and refuses those that must not be connected to; asked for each connection. */
  readonly lookup: LookupFunction;
  readonly maxResponseBytes: number;
  /** Counts what was read from it; false: that is enough for now. */
  spend(sizeBytes: number): boolean;
}

/** Called for every request, so it caches by itself. */
export type TokenSource = () => Promise<string>;
