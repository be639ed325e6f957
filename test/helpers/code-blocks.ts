// Lists every code block of the pages by page, heading and first line, with the test that runs it, or the reason why none does.

/** The test files that run blocks. Each of them ends with a test that it has used all its blocks. */
export const RUN_BY = {
  'test/cli/proxy.test.ts': [
    'docs/proxy.md / curl / sh: graphcred proxy -- sh -c \'curl -sS -H "Authorization: Bearer $TG_API_TOKEN" "$TG_HOST:$TG_RESTPP_PORT/echo"\'',
    'docs/proxy.md / A notebook / sh: graphcred proxy -- jupyter lab',
    'docs/proxy.md / A notebook / python: import json, os, urllib.request',
    'docs/proxy.md / A container beside it / sh: graphcred proxy --port 9100 --service-port 9200 --key-file "$SHARED/key" > "$SHARED/address"',
    'docs/proxy.md / A container beside it / sh: printf \'Authorization: Bearer %s\' "$(cat "$SHARED/key")" |',
  ],
  'test/clients/clients.test.ts': [
    'docs/proxy.md / pyTigerGraph and JDBC / sh: graphcred proxy -- python3 load.py',
  ],
  'test/e2e/first-steps.test.ts': [
    'README.md / The main job, on a practice server / console: $ graphcred sandbox -- sh            # a shell with a practice database of its own',
    'README.md / Your database / sh: graphcred login --host https://graph.example.com     # asks for graph, user and password; offers to keep a secret',
    'README.md / A CI job / sh: export GRAPHCRED_GSQL_URL=https://graph.example.com GRAPHCRED_REST_URL=https://graph.example.com/restpp',
    'docs/first-steps.md / First steps / console: $ graphcred sandbox > sandbox.log 2>&1 &',
    'docs/first-steps.md / First steps / console: $ graphcred secret create nightly',
    'docs/first-steps.md / First steps / console: $ graphcred secret drop nightly graphcred --yes',
    'docs/cloud.md / TigerGraph Cloud / console: $ graphcred login --host https://tg-1.i.tgcloud.io --wait 3m',
    "docs/cloud.md / The variables of the makers' MCP server / console: $ TG_SECRET=$(graphcred secret create mcp)",
    'docs/ci/shell.md / Shell scripts and cron / sh: export GRAPHCRED_GSQL_URL=https://graph.example.com',
    'docs/ci/shell.md / Shell scripts and cron / sh: for kind in Person City; do',
    'docs/ci/shell.md / Shell scripts and cron / sh: graphcred exec --revoke --lifetime 15m -- ./load.sh',
    'docs/ci/shell.md / Shell scripts and cron / sh: status=0',
    'docs/ci/shell.md / Shell scripts and cron / sh: umask 077',
    'docs/ci/shell.md / Shell scripts and cron / sh: { set +x; } 2>/dev/null',
  ],
  'test/e2e/action-jobs.test.ts': [
    'docs/ci/github-actions.md / With the action / yaml: - uses: OWNER/graphcred@v1',
  ],
  'test/e2e/recipes.test.ts': [
    'docs/ci/github-actions.md / With the command: one step, one command / yaml: name: load',
    'docs/ci/github-actions.md / A token for some steps / yaml: name: query',
    'docs/ci/gitlab.md / With the command: one job, one command / yaml: load:',
    'docs/ci/gitlab.md / With the command: one job, one command / yaml: query:',
    'docs/ci/gitlab.md / A token for later jobs / yaml: token:',
    'docs/ci/jenkins.md / Jenkins / groovy: pipeline {',
    'docs/with-other-tools.md / curl / sh: graphcred token get --lifetime 15m -o header |',
    'docs/with-other-tools.md / pyTigerGraph / python: import os',
    'docs/with-other-tools.md / tigergraphx / python: import os',
    'docs/with-other-tools.md / pyTigerGraph / sh: graphcred exec --lifetime 1h -- python3 load.py',
    'docs/with-other-tools.md / A private certificate authority / sh: export GRAPHCRED_CA=ca.pem',
    'docs/with-other-tools.md / JDBC / java: Properties properties = new Properties();',
    'docs/with-other-tools.md / The MCP server, and everything else that reads `.env` / ini: TG_HOST=https://graph.example.com',
    'docs/with-other-tools.md / The MCP server, and everything else that reads `.env` / sh: graphcred exec -- tigergraph-mcp',
    'docs/with-other-tools.md / Vault / yaml: profiles:',
    'docs/with-other-tools.md / Vault / sh: graphcred exec -p prod -- ./load.sh',
  ],
  'test/cli/api.test.ts': [
    'docs/with-other-tools.md / A .gsql file / sh: graphcred api --service /gsqlserver/gsql/file -d @schema.gsql',
    'docs/with-other-tools.md / A .gsql file / sh: graphcred api --service /gsql/v1/statements -d @schema.gsql',
  ],
  'test/cli/leak.test.ts': [
    'docs/leak.md / A secret / sh: graphcred secret rotate nightly --revoke',
    'docs/leak.md / A secret / sh: graphcred secret drop nightly --revoke --ignore-missing',
    'docs/leak.md / A token / sh: graphcred token delete --token-stdin --skip-missing < leaked-token.txt',
    'docs/leak.md / A token / sh: graphcred token delete --everything --skip-missing',
    'docs/leak.md / A store key / sh: graphcred logout --all --revoke --yes',
  ],
  'test/e2e/gitlab-component.test.ts': ['docs/ci/gitlab.md / With the component / yaml: include:'],
  'test/e2e/pages.test.ts': [
    'docs/fleet.md / Rights / text: user minter on >PASSWORD resetkeys ~graphcred:1:* resetchannels -@all +get +mget +set +del +exists +pexpire +pttl +eval +zadd +zrem +zrangebyscore +zremrangebyscore +ping +auth +hello +role +time',
    'docs/dev/fidelity.md / Ask a real server / sh: npm run conformance -- --dry-run --server-version 4.2.2',
    'docs/ci/kubernetes.md / A token in a Secret / yaml: apiVersion: batch/v1',
    'docs/dev/sandbox.md / The sandbox / sh: graphcred sandbox                                        # 3.10.1 on the usual ports 9000 and 14240',
    'docs/dev/sandbox.md / Texts / sh: curl -d \'{"badSecret3":{"status":403}}\' http://127.0.0.1:14240/__sandbox/texts  # 200, 400, 401, 403, 404 or 500',
    "docs/dev/sandbox.md / Faults / sh: --fault 'route=POST /gsql/v1/tokens,nth=2,action=status,status=503,body=html'",
  ],
  'test/e2e/conformance-command.test.ts': [
    'docs/dev/fidelity.md / Ask a real server / sh: npm run --silent conformance -- \\',
  ],
  'test/cli/library-page.test.ts': [
    "docs/library.md / The library / js: import { GraphConnection, GraphException } from 'graphcred'; // or: const { GraphConnection } = require('graphcred')",
    "docs/library.md / findVersion / js: const { version, canRefresh } = await connection.findVersion(); // '3.10.1', true",
    "docs/library.md / getSecrets / js: const masked = await connection.getSecrets(); // { etl: 'k3v****9qz' }",
    'docs/library.md / listSecrets / js: for (const { alias, masked, graph } of await connection.listSecrets()) console.log(alias, masked, graph);',
    "docs/library.md / createSecret / js: const secret = await connection.createSecret('report');",
    "docs/library.md / dropSecret / js: await connection.dropSecret(['report', 'never_there']); // 'Dropped: report. Not found: never_there.'",
    "docs/library.md / dropSecrets / js: const { dropped, missing, failed } = await connection.dropSecrets(['report', 'never_there']);",
    "docs/library.md / getToken / js: const secret = await connection.createSecret('nightly');",
    'docs/library.md / mintToken / js: const { token, expiresAtUnix, grantedSeconds } = await connection.mintToken({ lifetime: 900 });',
    'docs/library.md / refreshToken / js: if ((await connection.findVersion()).canRefresh) {',
    'docs/library.md / renewToken / js: if ((await connection.findVersion()).canRefresh) {',
    'docs/library.md / deleteToken / js: const { token } = await connection.mintToken({ lifetime: 900 });',
    "docs/library.md / restAuthentication / js: if ((await connection.restAuthentication()) === 'off') console.log('anybody can read this server');",
    'docs/library.md / serverTimeUnix / js: const seconds = await connection.serverTimeUnix(); // 1700000000, or undefined',
    "docs/library.md / rest / js: const reply = await connection.rest('GET', '/graph/social/vertices/Person?limit=2');",
    "docs/library.md / service / js: const { status, body } = await connection.service('GET', '/api/ping');",
    "docs/library.md / tokenProvider / js: const tokens = connection.tokenProvider({ secret: await connection.createSecret('service'), lifetime: 900 });",
  ],
  'test/windows/recipes.test.ts': [
    'docs/windows.md / A script of cmd / bat: @echo off',
    'docs/windows.md / A variable of cmd / bat: @echo off',
    'docs/windows.md / A script of PowerShell / powershell: $line = graphcred token get --lifetime 15m -o env',
    'docs/windows.md / Task Scheduler / bat: @echo off',
  ],
} as const;

/** The blocks that no test runs, each with the reason. */
export const NOT_RUN: Readonly<Record<string, string>> = {
  'README.md / Install / sh: npm ci && npm run demo            # the packages and the build; then the whole job, played against an imitation of both servers':
    'it installs packages and runs all the tests; the next test looks up its scripts',
  'README.md / Install / sh: npm install --global .            # the command `graphcred`, a link into this folder':
    'it installs the command on the machine',
  'CONTRIBUTING.md / Set up / sh: npm ci              # packages, and the build':
    'it installs packages and runs all the tests; the next test looks up its scripts',
  'docs/dev/architecture.md / Rooms / mermaid: flowchart TD': 'a picture',
  'docs/identity.md / Log in as a person / sh: graphcred login -p work --host https://graph.example.com --oidc-issuer https://id.example.com/realms/graph --oidc-client-id graphcred':
    'it needs a person; test/cli/identity-login.test.ts logs in at a provider',
  'docs/identity.md / For a job / yaml: env:':
    'it needs a cluster; test/cli/identity-job.test.ts reads such a file',
  'docs/ci/github-actions.md / Without a stored secret / yaml: - uses: OWNER/graphcred@v1':
    'it needs a runner of GitHub; test/cli/identity-job.test.ts runs the action with these inputs',
  'docs/ci/gitlab.md / Without a stored secret / yaml: load-as-client:':
    'it needs the token of a GitLab server; test/cli/identity-job.test.ts reads such a file',
  'docs/identity.md / For the operator / sh: gadmin config set Security.JWT.RSA.PublicKey @/path/public.pem':
    'it sets up a real server',
  'docs/fleet.md / Set-up / sh: export GRAPHCRED_STORE=redis':
    'it needs a Redis server at an address of its own; test/e2e/store-redis.test.ts uses these settings',
  'docs/fleet.md / Rights / sh: GRAPHCRED_REDIS_USERNAME=reader graphcred token get --principal nightly':
    'it needs a Redis server at an address of its own; test/e2e/store-redis.test.ts uses these settings',
  'docs/dev/performance.md / Measure it yourself / sh: npm run bench                              # the table below':
    'it measures for minutes; the next test looks up its scripts',
  'docs/standalone.md / One file, no Node / sh: npm ci':
    'it fetches a runtime of 50 MB; npm run test:standalone runs it',
  'docs/storage.md / The keychain / sh: apt-get install -y --no-install-recommends dbus gnome-keyring libsecret-1-0 libglib2.0-bin':
    'it installs packages of the system; test/helpers/keyring.ts starts such a keychain',
};
