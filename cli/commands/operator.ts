// `fairlead operator`: admits runs and brings them to runners.
import { resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import type { Command } from 'commander';
import { resolveInflight } from '../../crds/schema/index.ts';
import { actOn } from '../../operator/api/index.ts';
import { systemClock, turnClock } from '../../operator/clock.ts';
import { type OperatorFlags, parseSettings } from '../../operator/settings.ts';
import { startStandalone } from '../../operator/standalone/index.ts';
import { collect } from '../collect.ts';
import { DECISIONS_FLAG, DECISIONS_MEANING, withDecisions } from '../decisions.ts';
import { CommandError } from '../exit.ts';
import { loadPipelines, type PipelineObjects } from '../local/objects.ts';
import { addFiles, type FileOptions } from '../local/options.ts';
import { surroundings } from '../local/session.ts';
import { addLogLevel, type LogFlags, logTo } from '../log.ts';
import { wholeNumber } from '../numbers.ts';
import { API_DEFAULT, API_FLAG, API_MEANING } from '../remote/api-flag.ts';
import { serveLocalApi } from '../remote/serve.ts';
import { whatIf } from '../remote/what-if.ts';
import { pipelineName, proveEnded, refuseManyOnFile, startRunners } from '../runner-processes.ts';
import { onStopSignals } from '../signals.ts';
import { openTelemetry } from '../telemetry.ts';
import { programVersion } from '../version.ts';

interface Options extends FileOptions, OperatorFlags, LogFlags {
  readonly standalone?: boolean;
  readonly dir: string;
  readonly host: string;
  readonly port: number;
  readonly startRunners: number;
  /** Of the chart's Deployment: end it, and take finalizers off. */
  readonly letGo?: string;
}

export function configure(command: Command): void {
  command.description(
    'Admit the runs of Pipelines and bring them to runners. With --standalone the objects come from files and runners are plain processes: everything but Kubernetes.',
  );
  addFiles(command)
    .option('--standalone', 'without a cluster')
    .option('--dir <folder>', 'folder for the certificate, the token of runners and the roster', '.fairlead/operator')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <n>', 'port to listen on; 0: any free one', wholeNumber, 8443)
    .option('--start-runners <n>', 'runner processes to start for each class of each Pipeline', wholeNumber, 0)
    .option(API_FLAG, API_MEANING)
    .option(DECISIONS_FLAG, DECISIONS_MEANING)
    .action(run);
  addLogLevel(command);
  addClusterOptions(command);
}

/** What the chart passes; with --standalone none of it counts. */
function addClusterOptions(command: Command): void {
  command
    .option('--service <host:port>', 'Service that leads runners to the leader')
    .option('--lease <name>', 'Lease of the leader', 'fairlead')
    .option('--link-secret <name>', 'Secret for the certificates of the link', 'fairlead-link')
    .option('--link-port <port>', 'port for runners', '7443')
    .option('--http-port <port>', 'port for probes and metrics', '8080')
    .option('--runner-image <image>', 'image of runner pods')
    .option('--runner-image-pull-policy <policy>', 'Always, IfNotPresent or Never', 'IfNotPresent')
    .option('--runner-image-pull-secret <name>', 'pull secret of runner pods; can be repeated', collect)
    .option('--runner-grace <duration>', 'time that a runner pod gets to end', '60s')
    .option('--runner-inherit <name>', 'label or annotation that runner pods inherit; can be repeated', collect)
    .option('--lease-timeout <duration>', 'silence after which the runs of a runner are given to others', '120s')
    .option('--finalizer-timeout <duration>', 'time after which a deleted object is let go with its rows', '10m')
    .option('--pending-timeout <duration>', 'time that a pod with cards may wait for a node', '5m')
    .option(
      '--let-go <deployment>',
      'before an uninstall: end the operators, take the finalizer off all objects, and end',
    )
    .option('--watch-namespace <name>', 'namespace to serve; can be repeated; absent: all', collect)
    .option('--card-budget <resource=n>', 'cards that may be used; can be repeated', collect)
    .option('--card-weight <namespace=n>', 'weight of a namespace that wants cards; can be repeated', collect);
}

async function run(options: Options): Promise<void> {
  if (options.letGo !== undefined) return runLetGo(options.letGo, options);
  if (options.standalone !== true) return runInCluster(options);
  const log = logTo(process.stderr, options);
  const objects = await loadPipelines(options.file, surroundings());
  for (const one of objects) refuseManyOnFile(one, options.startRunners);
  const clock = turnClock(systemClock);
  const { telemetry, close: closeTelemetry } = await openTelemetry(process.env, log, { clock });
  const operator = await startStandalone({
    follow: withDecisions(options.decisionLog, clock, (pipeline) => telemetry.follow(pipeline)),
    pipelines: new Map(objects.map((one) => [pipelineName(one), specsOf(one)])),
    folder: resolve(options.dir),
    host: options.host,
    port: options.port,
    clock,
    events: {
      joined: (runner, pipeline, slots) => log.info('a runner joined', { runner, pipeline, slots }),
      silent: (runner) => log.warn('a runner is silent', { runner }),
      resumed: (runner) => log.info('a runner is heard again', { runner }),
      left: (runner, why) => log.info('a runner left', { runner, why }),
      refused: (peer, why) => log.warn('a runner was refused', { peer, why }),
      newerLeader: (epoch) => {
        log.error('another operator leads now; this one ends', { epoch });
        process.exit(1);
      },
    },
  });
  log.info(`the operator listens on https://${options.host}:${operator.port}`, { epoch: operator.epoch });
  telemetry.observe(() => operator.hosts.values());
  const api = await serveLocalApi({
    address: options.api ?? API_DEFAULT,
    trace: (pipeline, update) => telemetry.traces.get(pipeline, update),
    metrics: () => telemetry.metricsText(),
    folder: resolve(options.dir),
    by: 'operator',
    clock,
    hosts: () => operator.hosts,
    act: (pipeline, action) => actOn(operator.hosts.get(pipeline)!, action),
  });
  if (api !== undefined) log.info(`API and dashboard on ${api.url}`);
  proveEnded(options.dir, operator);
  const runners = objects.flatMap((one) => startRunners(one, operator, options));
  // Runners that hear a second signal stop at once too, and nothing is lost.
  const stopRunners = () => {
    for (const runner of runners) runner.stop();
  };
  const signal = await toldToStop(stopRunners);
  log.info(`${signal}: the operator ends when its runners have left; a second signal stops all at once`);
  stopRunners();
  await Promise.all(runners.map(({ ended }) => ended));
  await api?.close();
  await operator.close();
  await closeTelemetry();
}

/**
 * How much more than what is in use the heap may hold before it is collected. By default it is a multiple, and with ten thousand objects
 * whose copies are read again and again most of what is resident was garbage: at 2,000 sources 383 MB, of which 65 were in use. It is memory
 * against CPU: 10,000 sources that refresh each minute hold 390 MiB with it (docs/benchmarks.md).
 */
const HEAP_GROWTH_PERCENT = 15;

/** Serves the cluster that KUBECONFIG or the pod's account leads to, until told to end. */
async function runInCluster(flags: OperatorFlags & LogFlags): Promise<void> {
  const told = toldToStop(); // heard from the first moment on: process 1 of a container has no other handler
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  const parsed = parseSettings(flags, process.env);
  if (parsed.kind === 'refused')
    throw new CommandError(
      `in a cluster the chart sets these; here, use --standalone: ${parsed.problems.join('; ')}`,
      'usage',
    );
  const { settings } = parsed;
  const log = logTo(process.stdout, flags);
  const end = (why: string) => {
    log.error('the operator ends', { why });
    setTimeout(() => process.exit(1), 500); // a second at most: nothing of this time may reach the next leader
  };
  // What nobody caught leaves this process in a state that nobody knows: it says so as it says all else, and ends before it writes anything more.
  process.once('uncaughtException', (error) => {
    log.error('the operator ends: an error that nobody caught', { error: error.stack ?? String(error) });
    process.exit(1);
  });
  const [{ connect, ownAccount }, { Operator }] = await Promise.all([
    import('../../operator/cluster/index.ts'),
    import('../../operator/service/index.ts'),
  ]);
  const clock = turnClock(systemClock);
  const { telemetry, close: closeTelemetry } = await openTelemetry(process.env, log, { clock });
  const operator = new Operator({
    settings,
    telemetry,
    follow: withDecisions(flags.decisionLog, clock, (pipeline) => telemetry.follow(pipeline)),
    connection: await connect(),
    clock,
    random: Math.random,
    log,
    environment: process.env,
    version: programVersion(),
    simulate: whatIf,
    account: await ownAccount(),
    ended: end,
  });
  await Promise.race([operator.start(), told]);
  await told;
  log.info('the operator was told to end');
  await operator.stop();
  await closeTelemetry();
}

/** What the chart runs before it is uninstalled. */
async function runLetGo(
  deployment: string,
  { lease = 'fairlead', watchNamespace = [], ...flags }: Options,
): Promise<void> {
  const [{ connect, KubeApi }, { letGo }] = await Promise.all([
    import('../../operator/cluster/index.ts'),
    import('../../operator/service/index.ts'),
  ]);
  const connection = await connect();
  const clock = systemClock;
  const count = await letGo({
    api: new KubeApi({ connection, clock, random: Math.random, userAgent: `fairlead/${programVersion()}` }),
    clock,
    signal: AbortSignal.timeout(LET_GO_MS),
    namespace: process.env.FAIRLEAD_POD_NAMESPACE ?? 'default',
    deployment,
    lease,
    watchNamespaces: watchNamespace,
  });
  logTo(process.stdout, flags).info('the operators ended and finalizers are off; objects, definitions and rows stay', {
    count,
  });
  await connection.close();
}

/** Operators get 30 s to end, a lead that crashed as much again. */
const LET_GO_MS = 120_000;

function specsOf({ pipeline, sources }: PipelineObjects) {
  const inflight = resolveInflight(pipeline.value.spec, process.env);
  if (inflight.kind === 'refused') throw new CommandError(inflight.message);
  return {
    generation: 1,
    pipeline: pipeline.value.spec,
    slotsMax: inflight.slotsMax,
    limits: inflight.limits,
    sources: new Map(sources.map(({ name, value }) => [name, value.spec])),
  };
}

/** Resolves with the first signal; a second one ends the process, after `second`. */
const toldToStop = (second?: () => void): Promise<NodeJS.Signals> =>
  new Promise((resolveStop) => {
    onStopSignals({ first: resolveStop, ...(second !== undefined && { second }) });
  });
