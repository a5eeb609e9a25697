import { classMessages } from '../../cli/install/hub/storage-class.ts';

const fails = (message: string, ...values: readonly string[]) =>
  values.length === 0
    ? `{{- fail ${JSON.stringify(message)} }}`
    : `{{- fail (printf ${JSON.stringify(message)} ${values.join(' ')}) }}`;

/** Helm itself would name the first of many objects that are not its own, and no way out. */
export function ownershipText({
  name,
  namespace,
  main,
}: {
  name: string;
  namespace: string;
  main: string;
}): string {
  const place = `${JSON.stringify(namespace)} ${JSON.stringify(main)}`;
  const byCommand = `what is here was installed without Helm; \`rollcall uninstall ${name}\` removes it, and --take-ownership takes over what stays`;
  const byRelease = 'release %q of Helm is installed here; upgrade it by that name, or uninstall it first';
  return [
    `{{- range $there := list (lookup "apps/v1" "Deployment" ${place}) (lookup "v1" "ServiceAccount" ${place}) }}`,
    '{{- $release := dig "metadata" "annotations" "meta.helm.sh/release-name" "" $there }}',
    `{{- if and $there (not $release) }}\n${fails(byCommand)}`,
    `{{- else if and $there (ne $release $.Release.Name) }}\n${fails(byRelease, '$release')}`,
    '{{- end }}\n{{- end }}\n',
  ].join('\n');
}

const together =
  '`rollcall install hub --only-keys` with the keys of the hub that is meant makes Secrets and values that belong together';

/** Of another hub, under its own keys, to every agent and service: nobody would let them in, and nobody would say why. */
function otherHubText(): string {
  const bySecret = `Secret %s is of hub %s, and hub.id is %s; ${together}`;
  const byInfo = `hub %s is installed here, and hub.id is %s; ${together}`;
  return [
    '{{- $info := lookup "v1" "ConfigMap" "rollcall-system" "rollcall-hub" | default dict }}',
    '{{- $installed := dig "data" "hubId" "" $info }}',
    '{{- if and $.Values.parts.kubernetes $installed (ne $installed $.Values.hub.id) }}',
    fails(byInfo, '$installed', '$.Values.hub.id'),
    '{{- end }}',
    '{{- if $.Values.parts.workloads }}',
    '{{- range $service := append (keys $.Values.services | sortAlpha) "setup" }}',
    '{{- $name := printf "rollcall-identity-%s" $service }}',
    '{{- $secret := lookup "v1" "Secret" "rollcall-system" $name | default dict }}',
    '{{- $of := dig "data" "identity.json" "" $secret | b64dec | fromJson | dig "hubId" "" }}',
    '{{- if and $of (ne $of $.Values.hub.id) }}',
    fails(bySecret, '$name', '$of', '$.Values.hub.id'),
    '{{- end }}\n{{- end }}\n{{- end }}\n',
  ].join('\n');
}

/** As `refuseStorageClass` has it. Who installs the pods alone may have no right to look at what is of the whole cluster. */
function storageClassText(): string {
  const { missing, changed } = classMessages;
  return [
    '{{- if $.Values.parts.workloads }}',
    '{{- $class := $.Values.nats.storageClassName }}',
    '{{- $servers := lookup "apps/v1" "StatefulSet" "rollcall-system" "rollcall-nats" }}',
    '{{- if $servers }}',
    '{{- $before := dig "spec" "storageClassName" "" (first $servers.spec.volumeClaimTemplates) }}',
    `{{- if ne $before $class }}\n${fails(changed, '$class', '$before')}\n{{- end }}`,
    '{{- else if and $class $.Values.parts.kubernetes (lookup "v1" "Namespace" "" "kube-system") }}',
    '{{- $there := lookup "storage.k8s.io/v1" "StorageClass" "" $class }}',
    '{{- range (lookup "v1" "PersistentVolume" "" "").items }}',
    '{{- if eq (dig "spec" "storageClassName" "" .) $class }}{{ $there = . }}{{ end }}',
    '{{- end }}',
    `{{- if not $there }}\n${fails(missing, '$class')}\n{{- end }}`,
    '{{- end }}\n{{- end }}\n',
  ].join('\n');
}

/** What a hub needs in its cluster, and what must not be there. */
export const hubLookups = (): string => otherHubText() + storageClassText();
