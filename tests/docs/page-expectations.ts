import type { Expectation } from './reader.ts';

/** Every document with commands, in the order in which they are run: the first starts the hub, the last stops it. */
export const pagesInOrder: readonly string[] = [
  'docs/getting-started.md',
  'docs/member-access.md',
  'docs/fleet-as-objects.md',
  'docs/policy-guide.md',
  'docs/troubleshooting.md',
  'docs/coming-from/clusternet.md',
  'docs/coming-from/karmada.md',
  'docs/coming-from/ocm.md',
  'docs/coming-from/fleet.md',
  'docs/networks.md',
  'docs/security/README.md',
  'docs/security/access.md',
  'docs/security/restore.md',
  'docs/security/revoke.md',
  'docs/security/rotate.md',
  'docs/simulate.md',
  'docs/operations.md',
  'docs/install.md',
  'docs/upgrading.md',
  'docs/without-an-agent.md',
  'docs/watching.md',
  'docs/console.md',
];

/** What no test here can run, by page: the first line of the block, and the reason that stands above it. */
export const pagesNotRun: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'docs/policy-guide.md': {
    'rollcall policy explain edge-1': 'needs a hub with requests; cli/tests/policy.test.ts runs it',
    'rollcall policy try policies.yaml --since 30d':
      'needs a hub with requests; cli/tests/policy.test.ts runs it',
  },
  'docs/install.md': {
    "cat > hub-site.yaml <<'EOF'":
      'needs a cluster that runs pods; tests/nodes/install.test.ts does the same',
    'rollcall install hub --advertise hub.example.org:4222':
      'needs a cluster that runs pods; tests/charts/hub-chart.test.ts does the same without',
    'rollcall install hub --advertise hub.example.org:4222 --only-keys > hub-values.yaml':
      'needs a cluster that runs pods; tests/charts/hub-chart.test.ts does the same without',
    'rollcall install hub --advertise hub.example.org:4222 --workloads-context management':
      'needs two clusters, one that runs pods; tests/charts/hosted-hub.test.ts does the same without',
    'rollcall install hub --advertise hub.example.org:4222 --workloads-context management --only-keys > hub-values.yaml':
      'needs two clusters, one that runs pods; tests/charts/hosted-hub.test.ts does the same without',
    'rollcall install hub --servers 3 --advertise hub.example.org:4222 --advertise wss://hub.example.org':
      'needs a cluster that runs pods; tests/charts/three-servers.test.ts does the same without',
    'rollcall trust status --keys .rollcall-hub':
      'needs a cluster that runs pods; tests/charts/hub-chart.test.ts does the same without',
    'rollcall install all-in-one --advertise hub.example.org:4222':
      'needs a cluster that runs pods; tests/charts/all-in-one.test.ts does the same without',
    'rollcall uninstall hub': 'takes the hub away; tests/charts/hub-chart.test.ts runs it',
    'rollcall token create --publish --name edge-1 --cluster-name edge-1 --wait':
      'needs a second cluster; tests/charts/agent-chart.test.ts runs it',
    'helm install agent deploy/charts/agent --namespace rollcall-agent --create-namespace --values edge-1.yaml':
      'needs a second cluster; tests/charts/agent-chart.test.ts runs it',
    'rollcall install agent --values edge-1.yaml':
      'needs a second cluster that runs pods; tests/charts/agent-chart.test.ts does the same without',
    'rollcall uninstall agent': 'takes the agent away; tests/charts/agent-chart.test.ts runs it',
  },
  'docs/upgrading.md': {
    'rollcall down': 'needs another version; tests/upgrade/in-place.test.ts runs it',
    'rollcall install hub --only-keys --advertise hub.example.org:4222 > hub-values.yaml':
      'needs a cluster that runs pods; tests/charts/hub-chart.test.ts upgrades without',
  },
  'docs/watching.md': {
    "nats --context rollcall sub 'rollcall.stored.>'               # every event once it is stored":
      'tests/bus/nats-command.test.ts runs each of these lines with nats 0.5.1 against a hub',
    'rollcall events forward --to https://sink.example.org/events':
      'needs a sink; cli/tests/forward.test.ts runs these against one',
  },
  'docs/console.md': {
    'rollcall get clusters --state unknown,notReady --set shops --sort-by since':
      'needs a fleet; cli/tests/people.test.ts runs these',
    'rollcall get clusters --at 2026-11-27T04:00:00Z --state notReady':
      'needs a fleet; cli/tests/operations.test.ts runs these',
  },
  'docs/without-an-agent.md': {
    'rollcall join edge-1 --member-kubeconfig edge-1.kubeconfig':
      'needs a second cluster; tests/e2e/hub-initiated.test.ts runs it',
    'rollcall agent run --hosted edge-1 --member-kubeconfig /member/value':
      'is the command line of a pod in another cluster; tests/e2e/hosted-agents.test.ts runs it',
  },
  'docs/networks.md': {
    'rollcall up --advertise hub.example.org:4222 --websocket hub.example.org:443':
      'starts another hub; tests/e2e/networks.test.ts has one',
    'rollcall trust addresses hub.example.org:4222 new.example.org:4222':
      'changes the addresses of the hub that the other pages use; tests/e2e/networks.test.ts runs it',
    'rollcall trust addresses new.example.org:4222':
      'changes the addresses of the hub that the other pages use; tests/e2e/networks.test.ts runs it',
  },
  'docs/operations.md': {
    'rollcall unregister edge-1': 'puts a cluster out; tests/e2e/leaving.test.ts runs it',
    'rollcall confirm b-0123456789': 'needs operations that are held',
    'rollcall dead retry --all': 'needs a dead letter; tests/bus/consume-events.test.ts has some',
    'rollcall up --servers 3': 'starts another hub; tests/e2e/three-servers.test.ts runs it',
    'rollcall history archive --to /mnt/archives':
      'has nothing to move on a hub that is not 90 days old; tests/e2e/archive.test.ts runs it',
  },
  'docs/security/access.md': {
    'kubectl patch managedclusters.rollcall.dev edge-1 --type=merge -p \'{"spec":{"access":"Namespace"}}\'':
      'needs a cluster edge-1; tests/e2e/hub-access.test.ts does it',
  },
  'docs/security/restore.md': {
    "kubectl -n rollcall-system get configmap rollcall-hub -o jsonpath='{.data.hubId}'":
      'needs a cluster that runs pods; tests/charts/lost-history.test.ts runs the second',
    'rollcall backup /mnt/backups --to XABCDEFG…':
      'needs the public key that the command above printed; tests/e2e/restore.test.ts runs it',
    'rollcall backup history.backup --kubeconfig hub.kubeconfig':
      'needs a second machine; tests/e2e/restore.test.ts runs it',
    'rollcall restore --accept-loss HUB-ID':
      'needs a hub that has lost its history; tests/e2e/lost-history.test.ts runs it',
    'rollcall restore hub.backup --keys .rollcall-hub --keep-kubernetes':
      'needs a cluster that runs pods; tests/charts/restore.test.ts runs it',
    'rollcall restore hub.backup --keys .rollcall-hub':
      'needs a cluster that runs pods; tests/charts/restore.test.ts runs it',
    'rollcall restore hub.backup --objects | kubectl create -f -':
      'needs a hub that has lost its Kubernetes; tests/e2e/restore.test.ts runs it',
    'rollcall restore hub.backup --passphrase-file backup-passphrase --keep-kubernetes':
      'puts a hub in the place of the one that the other pages use; tests/e2e/restore.test.ts runs it',
    'rollcall restore hub.backup --passphrase-file backup-passphrase':
      'needs a machine without a hub; tests/e2e/restore.test.ts runs it',
    'rollcall verify':
      'says nothing on a hub that was never restored; tests/e2e/restore.test.ts runs the first',
    'rollcall token list': 'needs a token of before a restore; tests/e2e/restore.test.ts runs it',
  },
  'docs/security/revoke.md': {
    'rollcall revoke edge-1 --reason "laptop with its kubeconfig was lost"':
      'puts a cluster out; cli/tests/cluster-operations.test.ts runs it',
    'rollcall trust rotate signing-keys': 'rotate.md runs it',
  },
  'docs/security/rotate.md': {
    'rollcall rotate edge-1': 'needs a member called edge-1; tests/e2e/rotate-key.test.ts runs it',
    'rollcall agent rotate --state-dir DIRECTORY':
      'needs an agent that is installed; tests/e2e/rotate-key.test.ts runs it',
    'rollcall trust rotate signing-keys': 'due a day after the first step; tests/e2e/trust.test.ts runs it',
    'rollcall trust rotate signing-keys --now': 'makes all credentials void; tests/e2e/trust.test.ts runs it',
    'rollcall trust rotate ca':
      'the second step is due a day after the first; tests/e2e/trust.test.ts runs both',
  },
  'docs/simulate.md': {
    'rollcall simulate --clusters 10000 --scenario docs/scenarios/datacenter-outage.yaml':
      'takes a minute; the block above and tests/e2e/simulated-fleet.test.ts do the same in small',
  },
  'docs/troubleshooting.md': {
    'kubectl --namespace rollcall-agent logs deployment/rollcall-agent':
      'needs a member in which the agent is installed',
    'rollcall doctor --agent-state-dir .rollcall-agent/HUB/CLUSTER --hub 127.0.0.1:4222':
      'needs the keys of an agent; getting-started.md runs the same on its third shop',
  },
};

const kubectl = 'kubectl --kubeconfig .rollcall/kubeconfig';
const exportPath = 'export PATH="$PWD/node_modules/.bin:$PATH"';
const exportKubeconfig = 'export KUBECONFIG="$PWD/.rollcall/kubeconfig"';
const member = (name: string) => `--member-kubeconfig .rollcall/kubeconfig --client-id ${name}`;

/** `doctor` and `status` end with 1 where they find something, an agent that was stopped for example. */
const foundOrNot = [0, 1];

/** By page and by the first line of a block. */
export const pageExpectations: Readonly<Record<string, Readonly<Record<string, Expectation>>>> = {
  'docs/simulate.md': {
    "cat > blackout.yaml <<'EOF'": {
      prints: [/60 clusters in 2 groups/, /silenced +30 clusters/, /wronged +0 clusters/],
    },
  },
  'docs/member-access.md': {
    'rollcall kubectl local -- get namespaces': { prints: [/kube-system +Active/] },
    [`kubectl --kubeconfig .rollcall/kubeconfig patch managedclusters.rollcall.dev local --type=merge -p '{"spec":{"memberAccess":"Denied"}}'`]:
      { prints: [/local patched/], exits: foundOrNot },
  },
  'docs/fleet-as-objects.md': {
    [exportKubeconfig]: {
      prints: [/global condition met/, /local condition met/, /x-k8s\.io\/cluster-manager=rollcall/],
    },
  },
  'docs/getting-started.md': {
    'npm start': { prints: [/local +True +True/, /Ctrl-C stops it/], staysRunning: true },
    [exportPath]: {
      prints: [/local +True +True/, /registrar +1\/1/],
      exits: foundOrNot,
    },
    'rollcall token create --cluster-name shop-1 --ttl 1h --print-register-command > shop-1.sh': {
      prints: [/good for one cluster named "shop-1"/, /rollcall-join +token-\S+ +1 +0 /],
    },
    [`eval "$(cat shop-1.sh) ${member('shop-1')}"`]: {
      prints: [/admitted as "shop-1"/, /cluster "shop-1" is Ready/],
      staysRunning: true,
    },
    "cat > shops.yaml <<'EOF'": {
      prints: [/shops\.yaml: policies 1, rules 1: good/, /shops created/, /condition met/],
    },
    'rollcall token create --cluster-name shop-2 --print-register-command > shop-2.sh': {
      prints: [
        /waiting \(PolicyHeld\): rule "new-shop" of policy "shops" holds/,
        /rollcall approve --id shop-2/,
      ],
      staysRunning: true,
      printsLater: [/cluster "shop-2" is Ready/],
    },
    'rollcall get requests': {
      prints: [
        /shop-2 +shop-2 +Held +PolicyHeld/,
        /default +valid-token +Approve +true/,
        /→ +shops +new-shop +Hold +true +request\.clusterName="shop-2"/,
      ],
    },
    'rollcall approve shop-2 --reason "opens on Monday"': {
      prints: [/cluster "shop-2" is approved/, /condition met/, /Verdict: +approved/, /By: +rollcall-admin/],
    },
    "rollcall token create --cluster-name 'shop-*' --print-register-command > shops.sh": {
      prints: [/waiting \(PolicyHeld\)/, /rollcall approve --id shop-9/],
      staysRunning: true,
    },
    [`${kubectl} get clusterregistrationrequests.rollcall.dev`]: {
      prints: [
        /shop-9 +shop-9 +Held +PolicyHeld/,
        /managedclusters\/accept/,
        /shop-9 patched/,
        /shop-9 condition met/,
      ],
    },
    'rollcall deny shop-9 --reason "the shop is closed"': {
      prints: [/"shop-9" is denied.*the shop is closed/, /"shop-9" is approved.*open again/],
    },
    'rollcall events --cluster shop-2': {
      prints: [/cluster\.held/, /by rollcall-admin, PersonApproved: .*opens on Monday/, /cluster\.joined/],
    },
    'rollcall events --follow': {
      prints: [],
      staysRunning: true,
      printsLater: [/cluster\.refused +shop-33/, /cluster\.joined +shop-3 /],
    },
    [`${kubectl} describe managedclusters.rollcall.dev shop-1`]: {
      prints: [/MemberHealthy/, /SAMPLE-NODE/, /"type":"dev\.rollcall\.cluster\.denied\.v1"/],
    },
    "cat > shops-changed.yaml <<'EOF'": {
      prints: [/shop-2 +\S+ +held +approved +default\/valid-token/, /decided differently: 1\n/],
    },
    [`${kubectl} apply -f shops-changed.yaml`]: { prints: [/shops configured/, /condition met/] },
    'rollcall token create --cluster-name shop-3 --print-register-command > shop-3.sh': {
      prints: [/named "shop-3", not "shop-33"/, /code: TOKEN_NAME_MISMATCH/],
      exits: 3,
    },
    'rollcall describe cluster shop-33': {
      prints: [/Refused: +TOKEN_NAME_MISMATCH/, /shop-3 +shop-33 +Failed +TokenNameMismatch/],
    },
    [`eval "$(cat shop-3.sh) ${member('shop-3')} --dry-run"`]: {
      prints: [/ok hub-ca/, /nothing that can be seen from here is in the way \(dry run\)/],
    },
    'rollcall doctor --agent-state-dir .rollcall-agent/*/shop-3': {
      prints: [/agent-state: .*not let in yet/],
      exits: 1,
    },
    [`eval "$(cat shop-3.sh) ${member('shop-3')}"`]: {
      prints: [/cluster "shop-3" is Ready/],
      staysRunning: true,
    },
  },
  'docs/troubleshooting.md': {
    [exportPath]: { prints: [/ok +admission/, /registrar +1\/1/], exits: foundOrNot },
    'cd / && ROLLCALL_HOME="$OLDPWD/.rollcall" rollcall get clusters': { prints: [/local +True +True/] },
    'TOKEN=$(rollcall token create --cluster-name lost-1)': { prints: [/code: HUB_UNREACHABLE/], exits: 5 },
    'rollcall get requests -o wide': { prints: [/shop-2 .*rollcall-admin/, /rollcall-join +token-/] },
    'rollcall describe cluster local': {
      prints: [/State: +ready \(Alive\)/, /→ +default +valid-token +Approve +true/],
    },
    "cat > mistyped.yaml <<'EOF'": {
      prints: [/condition met/, /token has no field "vaild": did you mean "valid"/, /"mistyped" deleted/],
    },
    'rollcall policy check mistyped.yaml': {
      prints: [/mistyped\.yaml:8:19: error: rule "any"/, /code: POLICY_INVALID/],
      exits: 1,
    },
    [`${kubectl} auth can-i create managedclusters.rollcall.dev --subresource=accept`]: {
      prints: [/^yes$/m],
    },
    'rollcall events --cluster local --since 1h': { prints: [/cluster\.joined/] },
  },
  'docs/coming-from/clusternet.md': {
    [exportPath]: { prints: [/cluster "edge-box" is Ready/], staysRunning: true },
    'kubectl wait --for=create --timeout=60s clusterregistrationrequests.rollcall.dev/edge-box managedclusters.rollcall.dev/edge-box':
      {
        prints: [
          /local +Approved +PolicyApproved/,
          /SAMPLE-NODE/,
          /env=prod/,
          /rollcall\.dev\/cluster-id=edge-box/,
        ],
      },
    'kubectl delete managedclusters.rollcall.dev edge-box': { prints: [/"edge-box" deleted/] },
    "cat > clusternet-clusters.yaml <<'EOF'": {
      prints: [
        /cluster "depot" would be made: client id "5b1c9a52-.*labels env=prod/,
        /its sync mode is Dual/,
        /nothing was changed/,
      ],
    },
  },
  'docs/coming-from/karmada.md': {
    [exportPath]: {
      prints: [
        /ROLLCALL_TOKEN=rc1\.\S+ rollcall register 127\.0\.0\.1:\d+ /,
        /rollcall-join +token-/,
        /LAST-SEEN/,
        /"local" is uncordoned/,
      ],
    },
    'rollcall token create --name member1 --cluster-name member1 --print-register-command > member1.sh': {
      prints: [/cluster "member1" is Ready/],
      staysRunning: true,
    },
    [`${kubectl} wait --for=create --timeout=60s managedclusters.rollcall.dev/member1`]: {
      prints: [
        /Name: +member1/,
        /cluster "member1" has left the hub/,
        /token rollcall-join\/member1 is deleted/,
      ],
    },
    "cat > karmada-clusters.yaml <<'EOF'": {
      prints: [
        /cluster "member2" would be made: cluster id 5b1c9a52-.*labels region=eu/,
        /spec\.secretRef is not taken over/,
      ],
    },
  },
  'docs/coming-from/ocm.md': {
    [exportKubeconfig]: {
      prints: [/local condition met/, /emea created/, /emea condition met/, /emea +1 +False/, /global +\d/],
    },
    [exportPath]: { prints: [/by-hand condition met/, /waiting \(PolicyHeld\)/], staysRunning: true },
    'kubectl auth can-i create managedclusters.rollcall.dev --subresource=accept': {
      prints: [/^yes$/m, /cluster1 patched/, /cluster1 condition met/],
    },
    "cat > ocm-clusters.yaml <<'EOF'": {
      prints: [
        /set "plants" would be made/,
        /cluster "plant-3" is made: client id "plant-3", labels env=prod, set "plants"/,
        /there is no effect NoSelect here/,
        /plant-3 +Unknown/,
      ],
    },
  },
  'docs/coming-from/fleet.md': {
    [exportKubeconfig]: { prints: [/branch-7 condition met/, /branch-7 +Unknown/] },
    [exportPath]: { prints: [/cluster "branch-7" is Ready/], staysRunning: true },
    'kubectl wait --for=delete --timeout=60s -n rollcall-join secret/branch-7': {
      prints: [/UsedUp/, /branch-7 +True +True/],
    },
    "cat > fleet-clusters.yaml <<'EOF'": {
      prints: [
        /cluster "branch-8" would be made: client id "branch-8", labels tier=branch/,
        /its kubeconfig Secret "branch-8-kubeconfig" is not read/,
      ],
    },
  },
  'docs/security/restore.md': {
    'openssl rand -base64 24 > backup-passphrase': {
      prints: [/\d+ events up to \d+ of epoch 1, \d+ objects, keys sealed/],
    },
    'rollcall backup key backup.key': { prints: [/^X[A-Z2-7]{55}$/m] },
    'rollcall verify': { prints: [/the chain is whole/] },
  },
  'docs/networks.md': {
    'rollcall trust addresses': { prints: [/agents are told no addresses/] },
    [exportPath]: {
      prints: [
        /ok +hub: localhost:\d+ answers/,
        /nothing that can be seen from here is in the way \(dry run\)/,
      ],
    },
    'rollcall register "$HUB" --proxy http://127.0.0.1:9 --ca-cert-hash "$HASH" --cluster-name a-try --client-id a-try --state-dir a-try --dry-run':
      {
        prints: [/failed +hub: cannot reach the proxy http:\/\/127\.0\.0\.1:9/, /code: PROXY_UNREACHABLE/],
        exits: 5,
      },
  },
  'docs/security/README.md': {
    'rollcall audit --since 30d': { prints: [/cluster\.approved/] },
  },
  'docs/security/rotate.md': {
    'rollcall agent rotate --help': { prints: [/--state-dir/] },
    'rollcall trust status': { prints: [/replyKey:/, /role: member/, /state: signs/, /connected: \d/] },
    'rollcall trust rotate signing-keys': {
      prints: [/the next generation signs/, /state: good/, /next: drop/],
    },
    'rollcall trust rotate reply-key': { prints: [/the next reply key signs/] },
    'rollcall trust rotate service-keys --dry-run': {
      prints: [/service-keys: \w+/, /nothing was changed/],
    },
    'rollcall trust rotate ca --dry-run': { prints: [/ca: announce/, /nothing was changed/] },
    'rollcall trust rotate operator-keys --dry-run': {
      prints: [/operator-keys: switch/, /nothing was changed/],
    },
  },
  'docs/operations.md': {
    [exportPath]: { prints: [/registrar +1\/1/], exits: foundOrNot },
    'rollcall top --once': { prints: [/Services +registrar 1\/1/] },
    'rollcall audit --since 7d': { prints: [/cluster\.approved +local/] },
    'rollcall cordon local': { prints: [/"local" is cordoned/, /"local" is uncordoned/] },
    "rollcall token create --publish --name rollout --uses 20 --cluster-name 'edge-*' --wait": {
      prints: [/secret rollcall-join\/rollout holds the token/, /ROLLCALL_TOKEN=rc1\.\S+ rollcall register /],
    },
    'TOKEN=$(rollcall token create --description "sent to the wrong person" -o json | grep -o \'"name":"[^"]*\' | cut -d\'"\' -f4)':
      { prints: [/token-\w+/] },
    'rollcall get operations': { prints: [/No operations are held/] },
    'rollcall dead list': { prints: [/No dead letters/] },
    'du -sh .rollcall/nats .rollcall/kubernetes .rollcall/logs': { prints: [/\.rollcall\/nats/] },
    'rollcall history archive --dry-run': { prints: [/0 events up to 0 would be archived/] },
    'rollcall down': { prints: [/stopping the hub of process \d+/] },
    'rm -rf .rollcall': { prints: [] },
    'npm start': { prints: [/going on with the hub/, /Ctrl-C stops it/], staysRunning: true },
    [`${kubectl} wait --for=condition=Ready --timeout=60s managedclusters.rollcall.dev/local`]: {
      prints: [/condition met/, /local +True +True/, /cluster\.approved +shop-2 +rollcall-admin/],
    },
    'rollcall serve approver --help': { prints: [/--policy-deadline-ms/] },
  },
};
