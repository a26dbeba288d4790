// A device plugin of the kubelet that offers cards which do not exist: so that pods with cards are scheduled, counted and told their
// devices as on a machine that has some. It speaks the kubelet's own interface (deviceplugin/v1beta1): gRPC over unix sockets.
//   CARDS      how many it offers on its node
//   RESOURCE   under which name; absent: nvidia.com/gpu
// A container that gets some sees them in NVIDIA_VISIBLE_DEVICES (ids) and CUDA_VISIBLE_DEVICES (numbers).
import { existsSync, rmSync, watch } from 'node:fs';
import http2 from 'node:http2';
import { connect } from 'node:net';

const FOLDER = '/var/lib/kubelet/device-plugins';
const ENDPOINT = 'fairlead-cards.sock';
const SOCKET = `${FOLDER}/${ENDPOINT}`;
const { NODE_NAME = 'node', RESOURCE = 'nvidia.com/gpu', CARDS = '4' } = process.env;
const DEVICES = Array.from({ length: Number(CARDS) }, (_, i) => `GPU-${NODE_NAME}-${i}`);
const AGAIN_MS = 1_000;
const REGISTER_MAX_MS = 5_000;

const say = (text) => process.stdout.write(`${new Date().toISOString()} ${text}\n`);

// ---- protobuf: fields of wire type 2 (texts and messages) are all that these messages need --------------------------------

function varint(value) {
  const bytes = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}

/** A field with a text or an encoded message. */
function field(number, value) {
  const content = Buffer.isBuffer(value) ? value : Buffer.from(value);
  return Buffer.concat([varint(number * 8 + 2), varint(content.length), content]);
}

/** Contents of the fields of that number. */
function contents(message, number) {
  const found = [];
  let at = 0;
  const next = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = message[at++];
      value += (byte % 128) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = next();
    const length = next();
    if (tag % 8 !== 2) continue; // a number: it was what has just been read
    if (Math.floor(tag / 8) === number) found.push(message.subarray(at, at + length));
    at += length;
  }
  return found;
}

// ---- gRPC: a message is a byte for compression, four for its length, and itself -----------------------------------------------

function framed(message) {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

async function bodyOf(stream) {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces).subarray(5);
}

const HEADERS = { ':status': 200, 'content-type': 'application/grpc' };

function answer(stream, message) {
  stream.respond(HEADERS, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(framed(message));
}

// ---- what the kubelet asks --------------------------------------------------------------------------------------------------------

const deviceList = () =>
  Buffer.concat(DEVICES.map((id) => field(1, Buffer.concat([field(1, id), field(2, 'Healthy')]))));

const variable = (name, value) => field(1, Buffer.concat([field(1, name), field(2, value)]));

/** For each container the variables that tell it its devices. */
function allocated(request) {
  const containers = contents(request, 1).map((one) => contents(one, 1).map(String));
  say(`allocate ${JSON.stringify(containers)}`);
  return Buffer.concat(
    containers.map((ids) => {
      const numbers = ids.map((id) => DEVICES.indexOf(id)).sort((a, b) => a - b);
      const told = [
        variable('NVIDIA_VISIBLE_DEVICES', ids.join(',')),
        variable('CUDA_VISIBLE_DEVICES', numbers.join(',')),
      ];
      return field(1, Buffer.concat(told));
    }),
  );
}

const NOTHING = Buffer.alloc(0);
const METHODS = {
  GetDevicePluginOptions: (stream) => answer(stream, NOTHING),
  // The list stays open: the kubelet takes its end for the plugin's.
  ListAndWatch: (stream) => {
    stream.respond(HEADERS);
    stream.write(framed(deviceList()));
  },
  Allocate: async (stream) => answer(stream, allocated(await bodyOf(stream))),
  PreStartContainer: (stream) => answer(stream, NOTHING),
};

function serve() {
  const server = http2.createServer();
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    const method = METHODS[headers[':path'].split('/').at(-1)];
    if (method === undefined) stream.respond({ ...HEADERS, 'grpc-status': '12' }, { endStream: true });
    else void method(stream);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(SOCKET, () => resolve(server));
  });
}

function register() {
  const session = http2.connect('http://kubelet', { createConnection: () => connect(`${FOLDER}/kubelet.sock`) });
  const request = Buffer.concat([field(1, 'v1beta1'), field(2, ENDPOINT), field(3, RESOURCE)]);
  return new Promise((resolve, reject) => {
    session.once('error', reject);
    session.setTimeout(REGISTER_MAX_MS, () => reject(new Error('the kubelet did not answer')));
    const stream = session.request({
      ':method': 'POST',
      ':path': '/v1beta1.Registration/Register',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const end = (headers) => {
      if (headers['grpc-status'] === '0') resolve();
      else if (headers['grpc-status'] !== undefined) reject(new Error(`refused: ${headers['grpc-message']}`));
    };
    stream.once('error', reject).on('response', end).on('trailers', end).resume();
    stream.end(framed(request));
  }).finally(() => session.destroy());
}

/** The kubelet removes all sockets when it starts: then the plugin is to register anew. */
function socketGone() {
  return new Promise((resolve) => {
    const watcher = watch(FOLDER, () => {
      if (existsSync(SOCKET)) return;
      watcher.close();
      resolve();
    });
  });
}

async function live() {
  rmSync(SOCKET, { force: true });
  const server = await serve();
  try {
    await register();
    say(`registered ${DEVICES.length} ${RESOURCE}`);
    await socketGone();
    say('the kubelet started anew');
  } finally {
    server.close();
  }
}

for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit());
for (;;) {
  await live().catch((error) => say(`failed: ${error.message}`));
  await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
}
