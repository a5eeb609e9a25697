import type { ErrorTable } from './error-table.ts';

/** What people who run or use a hub are told: what they typed, their set-up, their Kubernetes. */
export const operatorErrors = {
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
    hint: 'Restore into a directory without a hub (`--state-dir DIR`); with --keep-kubernetes the hub of `rollcall up` that is there is moved aside, and its Kubernetes stays; of a hub in a cluster the message says how to make room.',
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
    hint: 'Run the same `rollcall restore FILE` again; of a hub on this machine, what was there before is kept beside it.',
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
} as const satisfies ErrorTable;
