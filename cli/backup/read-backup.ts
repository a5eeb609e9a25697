import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { RollcallError } from '@rollcall/shared/errors';
import { createChainCheck } from '@rollcall/shared/events';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import {
  type BackupHeader,
  type BackupLine,
  bodyOf,
  damaged,
  type EndLine,
  parseHeader,
  parseLine,
  type SealedKeys,
  type StreamLine,
} from './backup-format.ts';
import { checkSecretFiles } from './backed-up-files.ts';
import { type Opener, openKeys } from './encrypt-keys.ts';

/** A backup that was read to its end and found whole. */
export interface CheckedBackup {
  readonly header: BackupHeader;
  readonly events: number;
  readonly objects: readonly KubeObject[];
  /** @returns the files of the hub, by their paths below its state directory */
  open(by: Opener): Readonly<Record<string, string>>;
  /** Its messages of one stream, oldest first; the file is read again. */
  messages(stream: StreamLine['stream']): AsyncIterable<StreamLine>;
}

/** Far longer than any line that is written: the sealed keys with the claims of all accounts, twice. */
const longestLine = 32 * 1_048_576;
/** Of people's objects together, which are kept in memory: far more than an API server takes. */
const mostOfObjects = 512 * 1_048_576;

function asBackupError(path: string, cause: NodeJS.ErrnoException): RollcallError {
  if (cause instanceof RollcallError) return cause;
  if (cause.code === 'ENOENT' || cause.code === 'EISDIR')
    return new RollcallError('USAGE', `there is no file "${path}"`, { cause });
  // What zlib says of a file that ends too early.
  const isCut = cause.code === 'Z_BUF_ERROR' || cause.code === 'ERR_STREAM_PREMATURE_CLOSE';
  return damaged(isCut ? `"${path}" ends in the middle` : `"${path}" is no backup, or was changed`, cause);
}

/** @throws RollcallError BACKUP_INVALID for what is no such file, or ends too early; USAGE where there is none */
export async function* textLines(path: string): AsyncIterable<string> {
  const gunzip = createGunzip();
  const reading = pipeline(createReadStream(path), gunzip);
  reading.catch(() => undefined);
  gunzip.setEncoding('utf8');
  let rest = '';
  try {
    for await (const chunk of gunzip as AsyncIterable<string>) {
      const texts = (rest + chunk).split('\n');
      rest = texts.pop() ?? '';
      if (rest.length > longestLine) throw damaged('a line of it is too long');
      yield* texts;
    }
    await reading;
  } catch (cause) {
    throw asBackupError(path, cause as NodeJS.ErrnoException);
  }
  if (rest !== '') throw damaged(`"${path}" ends in the middle`);
}

async function* lines(path: string): AsyncIterable<BackupLine> {
  let number = 0;
  for await (const text of textLines(path)) {
    if (++number > 1) yield parseLine(text, number);
  }
}

/** Each is filled, and noted: an array has place for 134 million. */
const mostMissing = 100_000_000;

/** Every event where it was, and as it was. */
function eventCheck(header: BackupHeader): (line: StreamLine) => void {
  const check = createChainCheck();
  let last = 0;
  let missing = 0;
  return (line) => {
    const { sequence, subject, headers } = line;
    if (sequence <= last) throw damaged(`event ${sequence} stands after event ${last}`);
    if ((missing += sequence - last - 1) > mostMissing)
      throw damaged(`${missing} events before event ${sequence} are not in it, more than could be filled`);
    last = sequence;
    if (sequence > header.throughSequence)
      throw damaged(`event ${sequence} is later than the backup says it is`);
    const { digest } = check({ sequence, subject, eventId: headers['ce-id'] ?? '', data: bodyOf(line) });
    if (digest !== line.digest) throw damaged(`event ${sequence} was changed after the backup was written`);
  };
}

/**
 * Reads a backup to its end before anything is believed: that it is one, of a version that is known, whole, and unchanged.
 * @throws RollcallError BACKUP_INVALID, BACKUP_VERSION, USAGE
 */
export async function checkBackup(path: string): Promise<CheckedBackup> {
  const hash = createHash('sha256');
  let header: BackupHeader | undefined;
  let check: ((line: StreamLine) => void) | undefined;
  let keys: { sealed: SealedKeys; contentDigest: string } | undefined;
  let end: EndLine['end'] | undefined;
  const objects: KubeObject[] = [];
  let events = 0;
  let count = 0;
  let ofObjects = 0;
  for await (const text of textLines(path)) {
    count++;
    if (end) throw damaged(`line ${count} stands after the end`);
    if (!header) {
      header = parseHeader(text);
      check = eventCheck(header);
      hash.update(`${text}\n`);
      continue;
    }
    const line = parseLine(text, count);
    const before = `sha256:${hash.copy().digest('hex')}`;
    if ('end' in line) {
      end = line.end;
      if (end.digest !== before || end.lines !== count) throw damaged('it was changed after it was written');
      continue;
    }
    hash.update(`${text}\n`);
    if ('keys' in line) keys = { sealed: line.keys, contentDigest: before };
    else if (keys) throw damaged(`line ${count} stands after the keys`);
    else if ('object' in line) {
      if ((ofObjects += text.length) > mostOfObjects)
        throw damaged('the objects in it are more than any hub has');
      objects.push(line.object as KubeObject);
    } else if (line.stream === 'EVENTS') {
      check?.(line);
      events++;
    }
  }
  if (!header) throw damaged(`"${path}" is empty`);
  const { sealing } = header;
  const isKeyless = sealing.kind === 'without-keys';
  if (!end || (!keys && !isKeyless)) throw damaged(`"${path}" ends in the middle`);
  if (keys && isKeyless) throw damaged('it says that it has no keys, and has some');
  return {
    header,
    events,
    objects,
    open(by) {
      if (!keys) {
        if (by.kind !== 'files') throw damaged('there are no keys in it');
        checkSecretFiles(by.files, header.hubId);
        return by.files;
      }
      const secrets = openKeys(keys.sealed, sealing, by);
      if (secrets.contentDigest !== keys.contentDigest) throw damaged('what is in it is not what was sealed');
      checkSecretFiles(secrets.files, header.hubId);
      return secrets.files;
    },
    async *messages(stream) {
      for await (const line of lines(path)) if ('stream' in line && line.stream === stream) yield line;
    },
  };
}
