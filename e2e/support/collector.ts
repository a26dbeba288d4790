// The OpenTelemetry Collector of a place; it writes the spans that it gets to its log.
import { eventually } from '../../test/support/eventually.ts';
import { type ReceivedSpan, spansIn } from '../../test/telemetry/receiver.ts';
import type { Place } from './place.ts';
import { WITHIN_MS } from './watch.ts';

export class Collector {
  readonly #place: Place;

  static async serve(place: Place): Promise<Collector> {
    await place.serve('services/otelcol.yaml', 'otelcol');
    return new Collector(place);
  }

  private constructor(place: Place) {
    this.#place = place;
  }

  /** All spans of a trace, once the one of its root is there: an update's spans leave together with it or before. */
  traceOf(traceId: string): Promise<readonly ReceivedSpan[]> {
    const look = async () => (await this.#spans()).filter((span) => span.traceId === traceId);
    const isWhole = (spans: readonly ReceivedSpan[]) => spans.some(({ parentSpanId }) => parentSpanId === undefined);
    return eventually(look, isWhole, `the trace ${traceId} is at the collector`, WITHIN_MS);
  }

  async #spans(): Promise<ReceivedSpan[]> {
    const log = await this.#place.kubectl('logs', 'deployment/otelcol');
    const lines = log.split('\n').filter((line) => line.startsWith('{"resourceSpans"'));
    return lines.flatMap((line) => spansIn(JSON.parse(line)));
  }
}
