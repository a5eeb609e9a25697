import { RollcallError } from '@rollcall/shared/errors';
import { isLabelKey, isLabelValue } from '@rollcall/shared/resources/label-syntax';

/**
 * Reads labels as people write them: `region=eu,env=prod`. The syntax is that of Kubernetes labels.
 * @throws RollcallError USAGE
 */
export function parseLabels(text: string): Record<string, string> {
  const pairs = text.split(',').map((part) => part.trim());
  return Object.fromEntries(pairs.filter((pair) => pair !== '').map(parsePair));
}

function parsePair(pair: string): [string, string] {
  const [key = '', value, ...rest] = pair.split('=');
  if (value === undefined || rest.length > 0 || !isLabelKey(key)) {
    throw new RollcallError('USAGE', `label "${pair}" is not of the form key=value`);
  }
  if (!isLabelValue(value)) {
    throw new RollcallError('USAGE', `label "${pair}": "${value}" is no value that Kubernetes takes`);
  }
  return [key, value];
}
