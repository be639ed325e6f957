// Loaded before graphcred when a picture is made or a page is tested. It stops the clock at the time in the file STAGE_CLOCK, or puts it ahead by what
// follows a +; makes random numbers the same every time; and redirects host names to sandboxes on this machine.
const crypto = require('node:crypto');
const dns = require('node:dns');
const fs = require('node:fs');
const net = require('node:net');

const { STAGE_CLOCK, STAGE_HOSTS, STAGE_SEED } = process.env;

if (STAGE_CLOCK) {
  const RealDate = Date;
  const now = () => {
    const text = fs.readFileSync(STAGE_CLOCK, 'utf8');
    return text.startsWith('+') ? RealDate.now() + Number(text) : Number(text);
  };
  global.Date = class extends RealDate {
    constructor(...args) {
      super(...(args.length === 0 ? [now()] : args));
    }
    static now() {
      return now();
    }
  };
}

if (STAGE_SEED) {
  let count = 0;
  const bytes = (size) => {
    count += 1;
    const rounds = Math.ceil(size / 32);
    const parts = Array.from({ length: rounds }, (_, round) =>
      crypto.createHash('sha256').update(`${STAGE_SEED} ${count} ${round}`).digest(),
    );
    return Buffer.concat(parts).subarray(0, size);
  };
  crypto.randomBytes = bytes;
  crypto.randomInt = (limit) => bytes(4).readUInt32BE() % limit;
}

/** Maps host and port of a request, or of the sandbox itself, to the port on this machine where the sandbox listens. */
const ports = new Map(Object.entries(JSON.parse(STAGE_HOSTS ?? '{}')));
const names = new Set([...ports.keys()].map((place) => place.replace(/:\d+$/, '')));

const lookup = dns.promises.lookup;
dns.promises.lookup = async (name, options) =>
  names.has(name) && net.isIP(name) === 0 ? { address: '192.0.2.10', family: 4 } : lookup(name, options);

const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function (...args) {
  // net.connect passes its arguments on as an array of the options and the callback.
  const options = Array.isArray(args[0]) ? args[0][0] : args[0];
  const port = ports.get(`${options.host}:${options.port}`);
  if (port !== undefined) Object.assign(options, { host: '127.0.0.1', port });
  return connect.apply(this, args);
};

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, host, ...rest) {
  return listen.call(this, ports.get(`${host}:${port}`) ?? port, host, ...rest);
};
