/** A registration token as the hub has it; its secret nobody here knows. */
export interface TokenRow {
  readonly namespace: string;
  readonly name: string;
  /** Of the object: another one may get its name. */
  readonly uid: string;
  readonly uses: number | 'unlimited';
  readonly used: number;
  /** RFC 3339, or `never`; undefined: the hub has not said yet. */
  readonly expires?: string;
  readonly madeAtMs: number;
  /** Who made it, or changed it last. */
  readonly by?: string;
  readonly isReady: boolean;
  /** Of condition Ready. */
  readonly reason: string;
  readonly message: string;
  readonly clusterName?: string;
  readonly clientId?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly allowLabels?: readonly string[];
  readonly clusterSet?: string;
  readonly description?: string;
  /** The hub made it, into a Secret of its name. */
  readonly isPublished: boolean;
}

/** What a person says about a token that is to be made, as the flags of `rollcall token create` take it. */
export interface TokenFlags {
  readonly uses: string;
  readonly ttl: string;
  readonly name?: string | undefined;
  readonly clusterName?: string | undefined;
  readonly clientId?: string | undefined;
  readonly labels?: string | undefined;
  readonly allowLabels?: string | undefined;
  readonly clusterSet?: string | undefined;
  readonly description?: string | undefined;
}

/** The token was made in the browser: its public half is all that is told. */
export interface TokenMaking extends TokenFlags {
  readonly publicKey: string;
}

/** Where the token goes in what the server words: the browser puts it in. Nothing that a person may fill in has such letters. */
export const tokenPlace = 'TOKEN.OF.THIS.BROWSER';

/** What to do with a token that was made, with `tokenPlace` in its place. */
export interface TokenMade {
  readonly namespace: string;
  readonly name: string;
  /** For how many, and until when. */
  readonly terms: string;
  /** Whether the hub has said that it takes it. */
  readonly isTaken: boolean;
  readonly command: string;
  readonly values: string;
}

/** One token, as it was seen. */
export interface TokenRevoking {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}
