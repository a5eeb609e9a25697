import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HubTrust } from '@rollcall/agent';

const directory = join(import.meta.dirname, '..', '..', 'deploy', 'agent');

export interface ManifestValues {
  readonly hub: readonly string[];
  readonly trust: HubTrust;
  readonly token: string;
  readonly image: string;
  readonly clusterName?: string | undefined;
  readonly clientId?: string | undefined;
  readonly labels?: string | undefined;
}

/** Fills `${NAME}` in with a whole YAML value: JSON is YAML, so nothing in a value can end it. */
export function fillIn(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/^([^#\n]*)\$\{([A-Z_]+)\}/gm, (_, before: string, name: string) => {
    const value = values[name];
    if (value === undefined) throw new TypeError(`the manifest asks for "${name}", which nobody fills in`);
    return before + JSON.stringify(value);
  });
}

/** Everything that installs the agent in a member, for `kubectl apply -f -`. It holds the token. */
export function renderManifest(values: ManifestValues): string {
  const { hub, trust, token, image, clusterName = '', clientId = '', labels = '' } = values;
  const texts = {
    HUB: hub.join(','),
    CA_BUNDLE: 'caPem' in trust ? trust.caPem : '',
    CA_CERT_HASH: 'pins' in trust ? trust.pins.join(',') : '',
    TOKEN: token,
    IMAGE: image,
    CLUSTER_NAME: clusterName,
    CLIENT_ID: clientId,
    LABELS: labels,
  };
  return readdirSync(directory)
    .filter((file) => file.endsWith('.yaml'))
    .toSorted()
    .map((file) => fillIn(readFileSync(join(directory, file), 'utf8').trimEnd(), texts))
    .join('\n---\n');
}
