import { labelProblem } from '@rollcall/shared/resources/label-syntax';
import { cutText } from '@rollcall/shared/text';

function isAllowed(key: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? key.startsWith(pattern.slice(0, -1)) : key === pattern,
  );
}

/**
 * Which of the labels an agent asks for become the cluster's: those its token allows, never reserved ones (principle 10).
 * @returns the rest by name, so that nobody wonders where a label went
 */
export function splitLabels(
  asked: Readonly<Record<string, string>>,
  allowed: readonly string[],
): { granted: Record<string, string>; dropped: string[] } {
  const granted: Record<string, string> = {};
  const dropped: string[] = [];
  for (const [key, value] of Object.entries(asked)) {
    if (labelProblem({ [key]: value }) === undefined && isAllowed(key, allowed)) granted[key] = value;
    else dropped.push(cutText(key, 80));
  }
  return { granted, dropped: dropped.slice(0, 50) };
}
