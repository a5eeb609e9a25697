import type { ErrorTable } from './error-table.ts';

/** What an agent can be told, or finds out by itself. */
export const agentErrors = {
  REQUEST_INVALID: {
    retry: false,
    hint: 'Agent and hub do not speak the same version; upgrade the older one.',
  },
  MEMBER_ACCESS_INVALID: {
    retry: false,
    hint: 'Say who of the hub gets in, such as `rollcall agent run --member-access user:alice`; docs/member-access.md has all rules.',
  },
  REQUEST_TOO_LARGE: {
    retry: false,
    hint: 'The message says what is too much: fewer or shorter labels and claims, or an agent of the version of the hub.',
  },
  PROOF_INVALID: {
    retry: false,
    hint: 'The signature does not fit the key; the agent must sign with the keys it connected with.',
  },
  CLOCK_SKEW: {
    retry: true,
    hint: 'The agent corrects itself by the time of the hub and asks again; set the clock of the machine all the same.',
  },
  REPLAYED: {
    retry: true,
    hint: 'An old request was sent again; the agent asks anew. If it did not send it, look at who can reach the NATS server.',
  },
  HUB_WRONG: {
    retry: false,
    hint: 'The token belongs to another hub; check the address, or create a token on this hub.',
  },
  HUB_CA_WRONG: {
    retry: false,
    hint: 'Take the command from the hub again (`rollcall token create --print-register-command`): its --ca-cert-hash is that of the hub. An agent that is installed takes it by `rollcall install agent`, with its address and without a token. If it is the same, somebody is in between.',
  },
  HUB_CERT_EXPIRED: {
    retry: false,
    hint: 'Renew the certificate of the hub (a restart of `rollcall up` does); then check the clocks of hub and member.',
  },
  HUB_CERT_NAME: {
    retry: false,
    hint: 'Use an address that the certificate of the hub names, or add this one on the hub with --advertise HOST:PORT.',
  },
  HUB_NOT_TLS: {
    retry: false,
    hint: 'Check the port: the NATS port of the hub speaks TLS from the first byte (`handshake_first`); a proxy in between must pass it on.',
  },
  HUB_NOT_WEBSOCKET: {
    retry: false,
    hint: 'Check the port: the hub has to be started with --websocket HOST:PORT. Without wss:// before it, an address is one of NATS itself.',
  },
  HUB_TLS_OLD: {
    retry: false,
    hint: 'The hub, or a proxy in between, must speak TLS 1.3.',
  },
  HUB_UNREACHABLE: {
    retry: true,
    hint: 'Check the address of the hub and that its port can be reached from the member.',
  },
  PROXY_UNREACHABLE: {
    retry: true,
    hint: 'Check --proxy (or HTTPS_PROXY), and that the proxy can be reached from the member; NO_PROXY names what is reached without it.',
  },
  PROXY_AUTH: {
    retry: false,
    hint: 'Give the credentials in the address of the proxy: http://USER:PASSWORD@HOST:PORT, in HTTPS_PROXY or in a file (--proxy file:PATH).',
  },
  PROXY_REFUSED: {
    retry: false,
    hint: 'Have the proxy allow CONNECT to the address of the hub; many allow port 443 only.',
  },
  PROXY_NOT_HTTP: {
    retry: false,
    hint: 'Check host and port of the proxy, and whether it is spoken to by http:// or by https://.',
  },
  PROXY_UNTRUSTED: {
    retry: false,
    hint: 'Give the CA of the proxy with --proxy-ca-file; its address must be one that its certificate names.',
  },
  HUB_FULL: {
    retry: true,
    hint: 'The disk of the events is nearly full: `rollcall history archive --to DIR` makes space on it, with DIR on another disk, or raise its limit (docs/operations.md). Members go on, and the agent keeps asking.',
  },
  TOO_MANY_OPEN_REQUESTS: {
    retry: true,
    hint: 'Decide what waits (`rollcall get requests`), or raise maxOpenRequests of the registrar; the agent keeps asking.',
  },
  HUB_BUSY: { retry: true, hint: 'The hub is refusing new requests for now; the agent keeps asking.' },
  TOKEN_INVALID: {
    retry: false,
    hint: 'Copy the whole token (`rc1.<hub>.<secret>`), as `rollcall token create` printed it.',
  },
  TOKEN_REFUSED: {
    retry: false,
    hint: 'Correct what is said above, and make another one; nothing of this one is left, unless the message says so.',
  },
  TOKEN_UNKNOWN: {
    retry: false,
    hint: 'The hub does not let this token in: it was taken back, is not taken at the moment (`rollcall token list` says why), or is of another hub. Create one with `rollcall token create`. If somebody floods the hub with it from your address, it is good again a minute after that has ended.',
  },
  TOKEN_EXPIRED: {
    retry: false,
    hint: 'Create a new token with `rollcall token create` (`--ttl` sets how long it lives).',
  },
  CLUSTER_FORGOTTEN: {
    retry: true,
    hint: 'The hub was restored from a backup of before this cluster registered. The agent asks again by itself; a person then decides on the hub: `rollcall approve NAME`.',
  },
  TOKEN_OLD_EPOCH: {
    retry: false,
    hint: 'The hub was restored from a backup since this token was made: a person renews it with `rollcall token renew NAME`, or makes a new one.',
  },
  TOKEN_USED_UP: {
    retry: false,
    hint: 'Create a new token with `rollcall token create` (`--uses` sets how many clusters it lets in).',
  },
  TOKEN_NAME_MISMATCH: {
    retry: false,
    hint: 'Use the cluster name the token was made for, or a token that allows this name.',
  },
  CLUSTER_ID_INVALID: {
    retry: false,
    hint: 'A cluster id is made of a-z, 0-9 and `-`, at most 63 characters; a client id of at most 253 characters that can be seen.',
  },
  CLUSTER_NAME_INVALID: {
    retry: false,
    hint: 'Use a-z, 0-9 and `-`, at most 63 characters, starting and ending with a letter or digit.',
  },
  CLUSTER_NAME_RESERVED: {
    retry: false,
    hint: 'Choose another name; this one is reserved on the hub.',
  },
  KEY_TAKEN: {
    retry: false,
    hint: 'The keys of an agent were copied from another cluster: delete them here (Secret rollcall-agent, or its state directory), and the agent makes its own.',
  },
  ID_TAKEN: {
    retry: false,
    hint: 'The member is registered already, under the name that is said; to register it anew, end that cluster first: `rollcall unregister NAME` on the hub.',
  },
  NAME_TAKEN: {
    retry: false,
    hint: 'Choose another name, or unregister the cluster that has it: `rollcall unregister NAME` on the hub.',
  },
  PREDEFINED_BINDING: {
    retry: false,
    hint: 'Use a token that names this cluster: by its client id (`--client-id`), or by its name without wildcard (`--cluster-name`).',
  },
  NAMESPACE_TAKEN: {
    retry: false,
    hint: 'A namespace of that name exists on the hub and is not ours; rename the cluster or remove the namespace.',
  },
  OBJECT_TAKEN: {
    retry: false,
    hint: 'Somebody keeps an object of that name in the namespace of the cluster; remove it, and its finalizers if it has any, and approve again.',
  },
  SECRET_TAKEN: {
    retry: false,
    hint: 'Remove or rename the Secret that has the name of the token, then make the token again.',
  },
  SECRET_UNFINISHED: {
    retry: true,
    hint: 'The Secret of an earlier token of this name is being removed; it is made again as soon as it is gone.',
  },
  NAMESPACE_TERMINATING: {
    retry: true,
    hint: 'The namespace is still being deleted; it is made again as soon as it is gone.',
  },
  HUB_KEYS_OTHER: {
    retry: false,
    hint: 'Name the directory with the keys of that hub (--keys DIR). To begin a new hub in its place, remove it first: `rollcall uninstall hub --with-data`.',
  },
  INSTALLED_BY_HELM: {
    retry: false,
    hint: 'Change it with `helm upgrade`, or remove it with `helm uninstall` first; what one installer applies the other would take back.',
  },
  ACCESS_UNAVAILABLE: {
    retry: true,
    hint: 'The agent asks again by itself. If it stays, look at the log of the rbac-provisioner, and set its accessServer (docs/security/access.md).',
  },
  ACCESS_NOT_REMOVED: {
    retry: true,
    hint: 'The API server refused to take rights back; compare the rights of the provisioner with deploy/rbac.',
  },
  REQUEST_OPEN: {
    retry: true,
    hint: 'If the other key is not yours, a person denies it (`rollcall deny NAME`); then ask again.',
  },
  MEMBER_VERSION_UNREADABLE: {
    retry: false,
    hint: 'Look at what `kubectl version` says of the member: its API server must tell its version, as v1.36.3.',
  },
  MEMBER_TOO_OLD: { retry: false, hint: 'Upgrade the member cluster to Kubernetes 1.28 or newer.' },
  CLUSTER_DENIED: { retry: true, hint: 'A policy or a person denied this cluster; the reason says why.' },
  CLUSTER_BANNED: {
    retry: true,
    hint: 'A person banned this cluster; one with the right to revoke takes the ban back (`rollcall unban NAME`).',
  },
  CLUSTER_REVOKED: {
    retry: true,
    hint: 'The key of this cluster was taken back; a person on the hub can approve it again.',
  },
  CLUSTER_LEAVING: {
    retry: true,
    hint: 'Ask again once the cluster has left the hub; `rollcall describe cluster NAME` says what its leaving waits for.',
  },
  CLUSTER_LEFT: {
    retry: false,
    hint: 'The cluster was unregistered, and the keys it had stay out; register it again with a new token, which makes new keys.',
  },
  MEMBER_OTHER: {
    retry: false,
    hint: 'Check --member-kubeconfig and --member-context: nothing was changed on the hub or in that member.',
  },
  KEY_REFUSED: {
    retry: true,
    hint: 'The hub does not know the key of this agent (any more); register again with a new token.',
  },
  AGENT_STATE_INVALID: {
    retry: false,
    hint: 'Delete the key store of the agent (its directory, or the Secret rollcall-agent); the cluster then registers again under a new key.',
  },
  AGENT_STATE_OTHER: {
    retry: false,
    hint: 'Give each agent a key store of its own, or delete this one to register anew.',
  },
  MEMBER_UNREACHABLE: { retry: true, hint: 'Check the kubeconfig and context of the member cluster.' },
  MEMBER_KUBECONFIG_REFUSED: {
    retry: false,
    hint: 'Put a kubeconfig into the Secret that carries its own credentials and names the API server of the member; `rollcall join NAME` makes one like that.',
  },
  MEMBER_FORBIDDEN: {
    retry: false,
    hint: 'With 401 the member does not know these credentials, or they have ended: renew its kubeconfig. Else a right is missing: the agent reads the namespace kube-system and the nodes of its member cluster.',
  },
} as const satisfies ErrorTable;
