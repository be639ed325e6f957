// Measures what a request pays for its way through the door of `graphcred proxy`, and what its start costs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { talker } from './world.mjs';

const CONNECTIONS = 16;
const REQUESTS = 3000;
const ONE_BY_ONE = 500;

/** The goals: direct requests per second as a multiple of those through the proxy, the time of one request the other way round, and a multiple of `node -e 0`. */
const GOALS = { rate: 2, latency: 3, start: 2.5 };

/** Returns rows of the table of comparisons. Each is the median of its rounds, in which the two take turns. */
export async function measureProxy({ node, bin, env, cwd, server, rounds, median }) {
  const argv = [bin, 'proxy'];
  const start = () => talker(node, argv, { env, cwd });
  const door = start();
  try {
    const { restUrl, key } = JSON.parse(await door.hear());
    const through = target(restUrl, key);
    const direct = target(server.restUrl, await tokenOf(node, bin, env, cwd));
    for (const one of [direct, through]) await load(one, REQUESTS, CONNECTIONS);
    const [rates, latencies, starts] = [[], [], []];
    for (let round = 0; round < Math.max(5, rounds / 2); round++) {
      const ms = async (one, count, connections) => (await load(one, count, connections)) / count;
      rates.push((await ms(through, REQUESTS, CONNECTIONS)) / (await ms(direct, REQUESTS, CONNECTIONS)));
      latencies.push((await ms(through, ONE_BY_ONE, 1)) / (await ms(direct, ONE_BY_ONE, 1)));
      starts.push((await untilReady(start)) / (await untilEnded(node, env, cwd)));
    }
    return [
      {
        id: 'proxy-rate',
        label: `\`proxy\`: direct requests a second, as a multiple of those through it, ${CONNECTIONS} connections`,
        ratio: median(rates),
        goal: GOALS.rate,
      },
      {
        id: 'proxy-latency',
        label: '`proxy`: one request at a time, as a multiple of a direct one',
        ratio: median(latencies),
        goal: GOALS.latency,
      },
      {
        id: 'proxy-start',
        label: '`proxy` with a cached token, from start to ready, wall, against `node -e 0`',
        ratio: median(starts),
        goal: GOALS.start,
      },
    ];
  } finally {
    door.stop();
  }
}

function target(restUrl, token) {
  return { url: `${restUrl}/echo`, headers: { authorization: `Bearer ${token}` } };
}

async function tokenOf(node, bin, env, cwd) {
  return talker(node, [bin, 'token', 'get'], { env, cwd }).hear();
}

/** Sends this many requests over this many kept connections. Returns how long all of them took, in ms. */
async function load({ url, headers }, count, connections) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const one = () =>
    new Promise((resolve, reject) => {
      request(url, { agent, headers }, (reply) => {
        if (reply.statusCode !== 200) reject(new Error(`${url} answered ${reply.statusCode}`));
        reply.resume().on('end', resolve);
      })
        .on('error', reject)
        .end();
    });
  const began = performance.now();
  let left = count;
  const worker = async () => {
    while (left-- > 0) await one();
  };
  await Promise.all(Array.from({ length: connections }, worker));
  agent.destroy();
  return performance.now() - began;
}

async function untilReady(start) {
  const began = performance.now();
  const door = start();
  await door.hear();
  const ms = performance.now() - began;
  door.stop();
  return ms;
}

async function untilEnded(node, env, cwd) {
  const began = performance.now();
  await once(spawn(node, ['-e', '0'], { env, cwd, stdio: 'ignore' }), 'close');
  return performance.now() - began;
}
