// Runs the main step of action.yml: gets a token, and passes it on to the post step and to the steps of the job.
import { appendPairs, requireRunnerFiles } from '../cli/github.js';
import { serversOf, serverVariables } from '../core/endpoints.js';
import { versionOf } from '../core/protocol/version.js';
import { ADDRESS, address, graphcred } from './graphcred.js';
import { env, input, log, mask, runStep, switchInput } from './runner.js';

void runStep(async () => {
  // A provider's token is nothing that the database could revoke.
  const isRevoked = input('oidc-issuer') === '' && switchInput('revoke', true);
  const isExported = switchInput('export', false);
  requireRunnerFiles(env, ['GITHUB_STATE', 'GITHUB_OUTPUT', 'GITHUB_ENV'], 'The action');
  const got = await graphcred(['token', 'get', ...(isRevoked ? ['--fresh'] : [])]);
  const { token = '', expiresAt = '', serverVersion = '' } = got;
  mask(token);
  const outputs = { token, 'expires-at': expiresAt };
  // The post step's values are saved first: from here on it can revoke the token, whatever happens to this process.
  if (isRevoked) appendPairs(env.GITHUB_STATE, { ...outputs, address: address() });
  appendPairs(env.GITHUB_OUTPUT, outputs);
  if (isExported) {
    const [host, restUrl, gsqlUrl] = ADDRESS.map((name) => input(name) || undefined);
    const variables = serverVariables(serversOf({ host, restUrl, gsqlUrl }, versionOf(serverVersion)));
    const graph = input('graph') || undefined;
    appendPairs(env.GITHUB_ENV, { TG_API_TOKEN: token, TG_GRAPHNAME: graph, ...variables });
  }
  const end = isRevoked ? 'it will be revoked at the end of the job' : 'it will not be revoked';
  log('notice', `a token for ${address()} until ${expiresAt}; ${end}`);
});
