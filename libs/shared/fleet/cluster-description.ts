/** Who or what caused an event. */
export interface CauseShown {
  readonly person?: string | undefined;
  readonly policy?: string | undefined;
  readonly rule?: string | undefined;
  readonly service?: string | undefined;
}

export interface TimelineEntry<Cause = CauseShown> {
  readonly sequence: number;
  readonly at: string;
  readonly type: string;
  readonly by: Cause | undefined;
  readonly reason: string;
  readonly message: string;
}

/** What the agent says of its member; nobody verified it. */
export interface FactsShown {
  readonly kubernetesVersion?: string | undefined;
  readonly platform?: string | undefined;
  readonly provider?: string | undefined;
  readonly region?: string | undefined;
  readonly apiServerURL?: string | undefined;
  readonly agentVersion?: string | undefined;
  readonly nodes?:
    | { readonly total: number; readonly ready: number; readonly schedulable: number }
    | undefined;
}

/**
 * Everything that a person asks about a cluster, in the order in which they ask. Who knows more of causes and facts than the page shows
 * says so.
 */
export interface ClusterDescription<Cause = CauseShown, Facts = FactsShown> {
  readonly clusterId: string;
  readonly clusterName: string;
  readonly clientId: string | undefined;
  readonly phase: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly request:
    | {
        readonly id: string;
        readonly at: string;
        readonly token: string;
        readonly keyFingerprint: string;
        readonly droppedLabels: readonly string[];
        readonly refusal: { readonly code: string; readonly message: string } | undefined;
      }
    | undefined;
  readonly decision:
    | {
        readonly verdict: string;
        readonly by: Cause;
        readonly reason: string;
        readonly message: string;
        readonly at: string;
        readonly isAboutThisRequest: boolean;
      }
    | undefined;
  readonly credentials: {
    readonly keyFingerprint: string | undefined;
    readonly admittedAt: string | undefined;
    readonly revoked: readonly { readonly keyFingerprint: string; readonly at: string }[];
  };
  readonly namespace:
    | { readonly name: string; readonly state: string; readonly access: string; readonly problem?: string }
    | undefined;
  readonly liveness:
    | {
        readonly state: string;
        readonly cause: string;
        readonly joinedAt: string;
        readonly since: string;
        readonly lastHeartbeat: string;
      }
    | undefined;
  readonly schedulable: boolean;
  readonly clusterSet: string | undefined;
  readonly facts: Facts | undefined;
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
    readonly lastTransitionTime: string;
  }[];
  readonly timeline: readonly TimelineEntry<Cause>[];
  /** Who else asked for its name, in vain. */
  readonly attempts: readonly {
    readonly clusterId: string;
    readonly reason: string;
    readonly message: string;
  }[];
  /** Why a side could not be read. */
  readonly missing: readonly { readonly source: 'kubernetes' | 'history'; readonly why: string }[];
  /** What its request says in Kubernetes: all that there is where the history cannot be read. */
  readonly shown: { readonly reason: string; readonly message: string } | undefined;
}
