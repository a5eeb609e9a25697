/**
 * Every failure that Rollcall expects, by stable code. `retry` says whether the same call can succeed later without
 * anybody changing anything; `hint` says what to do. Agents, CLI, conditions and docs print these very words.
 */
export const errorCatalogue = {
  // What a person typed
  USAGE: { retry: false, hint: 'Run the same command with --help to see what it takes.' },
  SCENARIO_INVALID: {
    retry: false,
    hint: 'Each line above names the place and what was expected there; docs/simulate.md has all the fields.',
  },
  POLICY_INVALID: {
    retry: false,
    hint: 'Correct what is shown; docs/policy-guide.md says what an expression can read. The hub keeps the last good version in force.',
  },
  HUB_MISSING: {
    retry: false,
    hint: 'Check --kubeconfig and --context, or start a hub here with `rollcall up`.',
  },
  OPERATION_FORBIDDEN: {
    retry: false,
    hint: 'Ask somebody with the role rollcall-admin, or for verb create on what the message names.',
  },
  RETRY_IN_VAIN: {
    retry: false,
    hint: 'What stands in the way is still there: `rollcall dead list -o wide` says what. An upgrade may help; an UNEXPECTED one is a bug.',
  },
  BULK_HELD: {
    retry: true,
    hint: 'Look at what waits with `rollcall get operations`, then `rollcall confirm ID`.',
  },
  ACCEPT_FORBIDDEN: {
    retry: false,
    hint: 'Deciding needs verb patch on clusterregistrationrequests and create on managedclusters/accept: ClusterRole rollcall-approver has both.',
  },
  DECISION_CHANGED: {
    retry: false,
    hint: 'Mutating admission of others changed it on its way: `rollcall doctor` names it. Decide again once it leaves our kinds alone.',
  },
  REQUEST_FAILED: {
    retry: true,
    hint: 'The status of the request says what is in the way: `rollcall get requests -o yaml`.',
  },
  REQUEST_HELD: {
    retry: true,
    hint: 'A person on the hub decides: `rollcall describe request NAME` says what about, and how; start this command again to go on waiting.',
  },

  // Set-up and configuration
  BINARY_MISSING: {
    retry: false,
    hint: 'Run `npm run setup`, or name the binary in the environment variable shown.',
  },
  CONFIG_INVALID: {
    retry: false,
    hint: 'Correct the values that are listed; `--help` shows what each one takes.',
  },
  PORT_BUSY: {
    retry: false,
    hint: 'Stop the process that uses the port, or choose another one: one that was given by a flag, one that is remembered in the file that is named.',
  },
  STATE_INVALID: {
    retry: false,
    hint: 'Put a backup back: `rollcall restore FILE --keep-kubernetes` (docs/security/restore.md). Without one, `rollcall down --wipe` starts over, without history and keys: every cluster then registers again.',
  },
  STATE_VERSION: {
    retry: false,
    hint: 'Use the Rollcall version that wrote the state, or `rollcall down --wipe`.',
  },
  STATE_IN_USE: {
    retry: false,
    hint: 'Another `rollcall` uses this directory, `up` mostly; wait for it or stop it first, or set ROLLCALL_HOME to another one.',
  },
  STATE_NOT_EMPTY: {
    retry: false,
    hint: 'Restore into a directory without a hub (`--state-dir DIR`); with --keep-kubernetes the hub that is there is moved aside, and its Kubernetes stays.',
  },
  KEYS_OFFLINE: {
    retry: false,
    hint: 'Bring the file offline/keys.json back into the state directory for this one command; it signs what has to be made anew.',
  },
  BACKUP_EXISTS: { retry: false, hint: 'Name another file; a backup is never written over.' },
  BACKUP_INVALID: {
    retry: false,
    hint: 'Copy the file again, or take an older backup; nothing was changed here.',
  },
  BACKUP_VERSION: {
    retry: false,
    hint: 'Restore with the Rollcall that wrote the backup, or a newer one; nothing was changed here.',
  },
  RESTORE_UNFINISHED: {
    retry: false,
    hint: 'Run the same `rollcall restore FILE` again; what was there before is kept beside it.',
  },
  BACKUP_WITHOUT_KEYS: {
    retry: false,
    hint: "It was made away from the hub's keys. Restore it where they are, in the place of the hub that has lost its history (--keep-kubernetes), or restore a backup that has them.",
  },
  BACKUP_LOCKED: {
    retry: false,
    hint: 'Give the passphrase with --passphrase-file, or the key with --key-file, that the backup was sealed with; nothing was changed here.',
  },
  RESTORE_UNREVIEWED: {
    retry: true,
    hint: 'The hub was restored and nothing is shown before the approver has looked at what Kubernetes showed; see that it runs and reaches the API server.',
  },
  DISK_FULL: { retry: true, hint: 'Make space on the disk of the state directory and start again.' },
  CHILD_FAILED: {
    retry: true,
    hint: 'Read the last log lines above; the whole log is in the file that is named.',
  },

  // Kubernetes
  KUBECONFIG_INVALID: { retry: false, hint: 'Check the file with `kubectl config view --kubeconfig FILE`.' },
  KUBE_CONTEXT_UNKNOWN: { retry: false, hint: 'List contexts with `kubectl config get-contexts`.' },
  KUBE_UNREACHABLE: {
    retry: true,
    hint: 'Check the address and the network between here and the API server.',
  },
  KUBE_API: {
    retry: false,
    hint: 'The API server said why: with 401 your credentials were refused, or have ended. Where a right is missing: `rollcall doctor` says which you have, and ClusterRole rollcall-viewer, rollcall-approver or rollcall-admin gives more.',
  },

  // The bus
  BUS_UNREACHABLE: {
    retry: true,
    hint: 'Check that the hub is running and that its NATS port can be reached from here.',
  },
  BUS_REFUSED: {
    retry: false,
    hint: 'Take the newest credentials: inspector.creds or ops.creds of the directory of the hub, Secret rollcall-inspector or rollcall-ops, or `rollcall context export` once more. They end when service keys are rotated. A clock that is far off makes good ones bad, too.',
  },
  BUS_UNSAFE: {
    retry: false,
    hint: 'Set `sync_interval: always` and run nats-server 2.15.2 or newer, or start with --allow-unsafe-bus.',
  },
  HISTORY_LOST: {
    retry: true,
    hint: 'Stream EVENTS is gone, cut, or not the one that it was, so nothing is decided and nobody is let in. Put the newest copy of its files (of a hub in a cluster: a snapshot of its volume) back while the hub is stopped. Without one: of a hub in a cluster, which runs on, `rollcall restore --accept-loss HUB-ID --keys DIR`; of `rollcall up`, once it is stopped, `rollcall restore BACKUP --keep-kubernetes`, or `rollcall restore --accept-loss HUB-ID`, without what is lost. docs/security/restore.md says each step.',
  },
  APPEND_CONFLICT: {
    retry: true,
    hint: 'Somebody else was faster; the decision is taken again on the new state.',
  },
  EVENT_INVALID: { retry: false, hint: 'The message does not fit its schema; see `rollcall dead list`.' },
  EVENT_VERSION_UNKNOWN: {
    retry: true,
    hint: 'A newer Rollcall wrote this event; upgrade this service, the event is held until then.',
  },

  // What an agent can be told
  REQUEST_INVALID: {
    retry: false,
    hint: 'Agent and hub do not speak the same version; upgrade the older one.',
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
    hint: 'Take the command from the hub again (`rollcall token create --print-register-command`): its --ca-cert-hash is that of the hub. If it is the same, somebody is in between.',
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
    hint: 'A cluster id is made of a-z, 0-9 and `-`, at most 63 characters.',
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
  HUB_IN_PODS: {
    retry: false,
    hint: 'What can be done for a hub in a cluster, and how, stands in docs/install.md, "Keys and backups".',
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

  // Services
  ADMISSION_MISSING: {
    retry: true,
    hint: 'Delete what is named, if it is there, and apply deploy/admission again; until then decisions of people are held.',
  },
  CLAIMS_DIFFER: {
    retry: true,
    hint: 'The claims of account AGENTS are not what this version writes; run the same version everywhere, or push them again with the offline keys.',
  },
  CLAIMS_NOT_APPLIED: {
    retry: true,
    hint: 'The NATS server took the claims and does not act on them; check that the operator lists the signing key of the account-controller.',
  },
  ROTATION_NOT_DUE: {
    retry: false,
    hint: 'Wait, so that nobody is cut off; `rollcall trust status` says since when it rolls over. In an emergency, --now.',
  },
  KEY_NOT_CUT: {
    retry: true,
    hint: 'It is ended again by itself: the key is on the list, and nobody comes in anew with it. Where it stays, restart the NATS server that has the connection.',
  },
  DEADLINE_EXCEEDED: { retry: true, hint: 'Look at `rollcall doctor` for what is slow.' },
  NOT_FOUND: {
    retry: false,
    hint: 'Check the name; `rollcall get clusters` and the like list what there is. A hub that shows only exceptions needs `rollcall show NAME` first. An agent that did not reach the hub has left nothing here: its own output says why.',
  },
  UNEXPECTED: {
    retry: true,
    hint: 'This is a bug in Rollcall; please report it with the log lines around it.',
  },
} as const satisfies Record<string, { retry: boolean; hint: string }>;

export type ErrorCode = keyof typeof errorCatalogue;
