import type { AccessBox } from '@rollcall/shared/protocol';
import type { Xkey } from '@rollcall/shared/trust/keys';

const texts = ['requestId', 'clusterId', 'namespace', 'server', 'token'] as const;

/** By hand, because the agent loads no schema library for it. */
function isAccessBox(value: unknown): value is AccessBox {
  const box = (value ?? {}) as Readonly<Record<string, unknown>>;
  return (
    box['v'] === 1 &&
    texts.every((name) => typeof box[name] === 'string' && box[name] !== '') &&
    (box['caPem'] === undefined || typeof box['caPem'] === 'string') &&
    typeof box['expiresAtMs'] === 'number'
  );
}

/**
 * Opens what the hub sealed to us.
 * @param expected.requestId - the request that it must reply: an older box is none
 * @returns undefined for anything else
 */
export function openAccessBox(
  sealed: { readonly by: string; readonly box: string },
  key: Pick<Xkey, 'open'>,
  expected: { requestId: string; clusterId: string },
): AccessBox | undefined {
  const plain = key.open(Buffer.from(sealed.box, 'base64'), sealed.by);
  if (plain === undefined) return undefined;
  let box: unknown;
  try {
    box = JSON.parse(new TextDecoder().decode(plain));
  } catch {
    return undefined;
  }
  const isOurs =
    isAccessBox(box) && box.requestId === expected.requestId && box.clusterId === expected.clusterId;
  return isOurs ? (box as AccessBox) : undefined;
}

/** A kubeconfig for the hub, everything inline. JSON is YAML too, and needs no library. */
export function hubKubeconfig({ server, caPem, token, namespace }: AccessBox): string {
  const [hub, user] = ['rollcall-hub', 'rollcall-member'];
  const authority =
    caPem === undefined ? {} : { 'certificate-authority-data': Buffer.from(caPem).toString('base64') };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: hub, cluster: { server, ...authority } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: hub, context: { cluster: hub, user, namespace } }],
    'current-context': hub,
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
