import { printResult } from '../terminal/output.ts';
import { printableYaml } from '../terminal/printable-yaml.ts';
import { checkBackup } from './read-backup.ts';

/** For a hub whose Kubernetes alone was lost: `kubectl create -f` makes them again. */
export async function printObjects(path: string): Promise<void> {
  const { objects } = await checkBackup(path);
  printResult(objects.map((object) => printableYaml(object, { lineWidth: 0 })).join('\n---\n'));
}
