// redlock, over ioredis: driven by the same lines as the clients in driver.py.
// usage: redlock.js NAME SOCKET...       NAME may be several, joined by commas, taken together
// With several sockets, these are the independent servers of Redlock. The key is the name.
'use strict';

const fs = require('fs');
const readline = require('readline');
const Redis = require('ioredis');
const { default: Redlock, ResourceLockedError } = require('redlock');

const SECTION = 5; // ms, as in driver.py
const PAUSE = 20;
const WAIT = 1000;
const LEASE = 30000;
const RETRY = 50; // ms between two attempts

const names = process.argv[2].split(',');
const clients = process.argv.slice(3).map((path) => new Redis(path));
const redlock = new Redlock(clients, { retryCount: 0, retryDelay: RETRY, retryJitter: 10 });
let lock;

redlock.on('error', (error) => {
  if (!(error instanceof ResourceLockedError)) console.error(error);
});

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Whether all that spoke against it did so because another holds the lock; a fault is an error.
async function lockedByAnother(error) {
  const attempts = await Promise.all(error.attempts || []);
  const against = attempts.flatMap((stats) => [...stats.votesAgainst.values()]);
  return against.length > 0 && against.every((each) => each instanceof ResourceLockedError);
}

async function attempt(act) {
  try {
    return await act();
  } catch (error) {
    if (await lockedByAnother(error)) return 'no';
    throw error;
  }
}

const verbs = {
  acquire: (ttl, wait = 0) =>
    attempt(async () => {
      lock = await redlock.acquire(names, Number(ttl), { retryCount: Math.ceil(wait / RETRY) });
      return `yes ${lock.value}`;
    }),
  extend: (ttl) =>
    attempt(async () => {
      lock = await lock.extend(Number(ttl));
      return 'yes';
    }),
  release: () =>
    attempt(async () => {
      await lock.release();
      return 'yes';
    }),
  async count(file, log, stop) {
    while (!fs.existsSync(stop)) {
      while ((await verbs.acquire(LEASE, WAIT)) === 'no');
      const number = Number(fs.readFileSync(file, 'ascii'));
      fs.appendFileSync(log, 'client\n');
      await sleep(SECTION);
      fs.writeFileSync(file, String(number + 1));
      if ((await verbs.release()) === 'no') return 'lost the lock';
      await sleep(PAUSE);
    }
    return 'done';
  },
};

async function serve() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [verb, ...args] = line.trim().split(/\s+/);
    if (verb === 'end') break;
    let answer;
    try {
      answer = await verbs[verb](...args);
    } catch (error) {
      console.error(error);
      answer = 'error, see stderr';
    }
    console.log(answer);
  }
  process.exit();
}

serve();
