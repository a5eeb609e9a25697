import { stringify } from 'yaml';
import { printResult } from '../output.ts';
import { printableLines } from '../printable.ts';
import { checkBackup } from './read-backup.ts';

/** For a hub whose Kubernetes alone was lost: `kubectl create -f` makes them again. */
export async function printObjects(path: string): Promise<void> {
  const { objects } = await checkBackup(path);
  const documents = objects.map((object) => stringify(object, { lineWidth: 0 }));
  printResult(printableLines(documents.join('---\n').trimEnd()));
}
