import { z } from 'zod';
import { RollcallError } from '@rollcall/shared/errors';
import { resources } from '@rollcall/shared/kubernetes';
import { apiVersion } from '@rollcall/shared/resources';

/** Raised when an older Rollcall could not read the file any more. */
export const formatVersion = 1;

const base64 = z.string().regex(/^[A-Za-z0-9+/]*={0,2}$/);

/** How the keys are sealed; what is needed to open them beside the secret. Bounded, because it is read from anybody's file. */
const sealingSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('passphrase'),
    salt: base64,
    /** A power of two, as scrypt wants it; with the block size, at most 256 MiB of memory. */
    cost: z.literal([16_384, 32_768, 65_536, 131_072, 262_144]),
    blockSize: z.literal(8),
  }),
  z.strictObject({ kind: z.literal('key'), recipient: z.string().regex(/^X[A-Z2-7]{55}$/) }),
  /** Made where the hub's keys are not: there are none in it. */
  z.strictObject({ kind: z.literal('without-keys') }),
]);
export type Sealing = z.infer<typeof sealingSchema>;

/** The first line: what this is, before anything else of it is believed. */
const headerSchema = z.object({
  rollcallBackup: z.literal(formatVersion),
  rollcallVersion: z.string(),
  hubId: z.string(),
  epoch: z.int().min(1),
  takenAtMs: z.int(),
  /** The last event of EVENTS that is in it. */
  throughSequence: z.int().min(0),
  /** Up to which event each service had handled them. */
  handled: z.record(z.string(), z.int().min(0)),
  sealing: sealingSchema,
});
export type BackupHeader = z.infer<typeof headerSchema>;

/** What each stream takes. One that a server refuses would be found out in the middle of a restore. */
const subjectsOf = {
  EVENTS: /^rollcall\.events\.[^ \t\r\n]+$/,
  FACTS: /^rollcall\.facts\.[^ \t\r\n]+$/,
  DEAD: /^rollcall\.(dead|held)\.[^ \t\r\n]+$/,
} as const;

const streamLine = z
  .strictObject({
    stream: z.enum(['EVENTS', 'FACTS', 'DEAD']),
    sequence: z.int().min(1),
    subject: z.string(),
    timeMs: z.int(),
    headers: z.record(z.string(), z.string()),
    /** As text where it is text, so that people can read it. */
    text: z.string().optional(),
    base64: base64.optional(),
    /** Of events: what later events and statuses name. */
    digest: z.string().optional(),
  })
  .refine(({ stream, subject }) => subjectsOf[stream].test(subject));
/** What people keep in the hub's API server; the order in which a hub makes them again. */
export const peoplesKinds = [
  resources.managedClusterSets,
  resources.approvalPolicies,
  resources.clusterRegistrationTokens,
  resources.managedClusters,
  resources.managedClusterSetBindings,
] as const;
const objectLine = z.strictObject({
  object: z.looseObject({
    // They are made with all rights, from a file that anybody may have written: nothing else is taken for one.
    apiVersion: z.literal(apiVersion),
    kind: z.enum(peoplesKinds.map(({ kind }) => kind)),
    metadata: z.looseObject({ name: z.string() }),
  }),
});
const keysLine = z.strictObject({
  keys: z.strictObject({ nonce: base64, sealed: base64, sender: z.string() }),
});
const endLine = z.strictObject({ end: z.strictObject({ lines: z.int(), digest: z.string() }) });

export type StreamLine = z.infer<typeof streamLine>;
export type ObjectLine = z.infer<typeof objectLine>;
export type SealedKeys = z.infer<typeof keysLine>['keys'];
export type EndLine = z.infer<typeof endLine>;
export type BackupLine = StreamLine | ObjectLine | z.infer<typeof keysLine> | EndLine;

const lineSchema = z.union([streamLine, objectLine, keysLine, endLine]);

/** What the sealed part holds, once it is open. */
export const secretsSchema = z.strictObject({
  /** Of every line before: whoever has not the passphrase cannot change the rest either. */
  contentDigest: z.string(),
  /** Paths below the state directory, and what stands there. */
  files: z.record(z.string(), z.string()),
});
export type Secrets = z.infer<typeof secretsSchema>;

export const damaged = (why: string, cause?: unknown) =>
  new RollcallError('BACKUP_INVALID', why, cause === undefined ? {} : { cause });

function parseJson(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw damaged(`${where} is no JSON`, cause);
  }
}

/** @throws RollcallError BACKUP_VERSION for a newer one, BACKUP_INVALID for anything else */
export function parseHeader(text: string): BackupHeader {
  const json = parseJson(text, 'the first line');
  const version = (json as { rollcallBackup?: unknown } | null)?.rollcallBackup;
  if (typeof version !== 'number') throw damaged('this is no backup of a Rollcall hub');
  if (version > formatVersion) {
    throw new RollcallError(
      'BACKUP_VERSION',
      `the backup has format ${version}; this Rollcall reads up to ${formatVersion}`,
    );
  }
  const header = headerSchema.safeParse(json);
  if (!header.success) throw damaged(`the first line: ${z.prettifyError(header.error)}`);
  return header.data;
}

/** @throws RollcallError BACKUP_INVALID naming the line */
export function parseLine(text: string, number: number): BackupLine {
  const line = lineSchema.safeParse(parseJson(text, `line ${number}`));
  if (!line.success) throw damaged(`line ${number} is none of a backup`);
  return line.data;
}

/** The bytes of a message in a line, and back. */
export function bodyOf({ text, base64: encoded }: Pick<StreamLine, 'text' | 'base64'>): Uint8Array {
  return text === undefined ? Buffer.from(encoded ?? '', 'base64') : new TextEncoder().encode(text);
}

export function bodyFields(data: Uint8Array): Pick<StreamLine, 'text' | 'base64'> {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(data);
  return Buffer.from(text, 'utf8').equals(data) ? { text } : { base64: Buffer.from(data).toString('base64') };
}
