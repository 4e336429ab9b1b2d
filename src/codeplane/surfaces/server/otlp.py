"""The messages of OTLP: traces from calls, metrics from what `/metrics` shows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue
from opentelemetry.proto.metrics.v1 import metrics_pb2 as otlp_metrics
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2 as otlp_trace
from prometheus_client import Metric
from prometheus_client.samples import Sample

from codeplane.core.hashing import sha256_text
from codeplane.core.tracing import AttributeValue, TracedCall
from codeplane.core.version import VERSION

_SCOPE = InstrumentationScope(name="codeplane", version=VERSION)
_CUMULATIVE = otlp_metrics.AGGREGATION_TEMPORALITY_CUMULATIVE


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends: the repository's id as instance, and since when it counts."""

    instance: str
    started_ms: int

    @property
    def resource(self) -> Resource:
        """Return who sends, as OTLP says it."""
        who = {"service.name": "codeplane", "service.version": VERSION, "service.instance.id": self.instance}
        return Resource(attributes=_attributes(who))


@dataclass(frozen=True, slots=True)
class _Times:
    """Since when is counted, and the time of the counts."""

    started_ns: int
    now_ns: int


def trace_request(sender: Sender, calls: Iterable[TracedCall], *, with_names: bool) -> bytes:
    """Return the message with a span for each call and one below it for each of its steps."""
    spans = [span for call in calls for span in _spans(call, with_names=with_names)]
    scope = otlp_trace.ScopeSpans(scope=_SCOPE, spans=spans)
    one = otlp_trace.ResourceSpans(resource=sender.resource, scope_spans=[scope])
    return bytes(ExportTraceServiceRequest(resource_spans=[one]).SerializeToString())


def metrics_request(sender: Sender, families: Iterable[Metric], now_ms: int) -> bytes:
    """Return the message with the metrics as they are now."""
    times = _Times(sender.started_ms * 1_000_000, now_ms * 1_000_000)
    metrics = [_metric(family, times) for family in families if family.samples]
    scope = otlp_metrics.ScopeMetrics(scope=_SCOPE, metrics=metrics)
    one = otlp_metrics.ResourceMetrics(resource=sender.resource, scope_metrics=[scope])
    return bytes(ExportMetricsServiceRequest(resource_metrics=[one]).SerializeToString())


def _spans(call: TracedCall, *, with_names: bool) -> list[otlp_trace.Span]:
    started = call.started_ms * 1_000_000
    trace_id, span_id = _id(f"trace {call.call_id}", 16), _id(f"span {call.call_id}", 8)
    failed = otlp_trace.Status.STATUS_CODE_ERROR
    whole = otlp_trace.Span(
        trace_id=trace_id,
        span_id=span_id,
        name=f"codeplane.{call.name}",
        kind=otlp_trace.Span.SPAN_KIND_SERVER,
        start_time_unix_nano=started,
        end_time_unix_nano=started + call.duration_ns,
        attributes=_attributes({**call.attributes, **(call.names if with_names else {})}),
        status=otlp_trace.Status(code=failed, message=call.error) if call.error is not None else None,
    )
    steps = [
        otlp_trace.Span(
            trace_id=trace_id,
            span_id=_id(f"step {number} of {call.call_id}", 8),
            parent_span_id=span_id,
            name=f"codeplane.step.{step.name}",
            kind=otlp_trace.Span.SPAN_KIND_INTERNAL,
            start_time_unix_nano=started + step.offset_ns,
            end_time_unix_nano=started + step.offset_ns + step.duration_ns,
        )
        for number, step in enumerate(call.steps)
    ]
    return [whole, *steps]


def _id(text: str, n_bytes: int) -> bytes:
    """Return an id that anybody can derive from the ledger's row."""
    return bytes.fromhex(sha256_text(text)[: 2 * n_bytes])


def _metric(family: Metric, times: _Times) -> otlp_metrics.Metric:
    metric = otlp_metrics.Metric(name=family.name, description=family.documentation)
    if family.type == "histogram":
        points = _histograms(family.samples, times)
        metric.histogram.CopyFrom(otlp_metrics.Histogram(data_points=points, aggregation_temporality=_CUMULATIVE))
        return metric
    counted = [one for one in family.samples if not one.name.endswith("_created")]
    numbers = [
        otlp_metrics.NumberDataPoint(
            attributes=_attributes(one.labels),
            as_double=one.value,
            start_time_unix_nano=times.started_ns,
            time_unix_nano=times.now_ns,
        )
        for one in counted
    ]
    if family.type == "counter":
        total = otlp_metrics.Sum(data_points=numbers, aggregation_temporality=_CUMULATIVE, is_monotonic=True)
        metric.sum.CopyFrom(total)
    else:
        metric.gauge.CopyFrom(otlp_metrics.Gauge(data_points=numbers))
    return metric


def _histograms(samples: Sequence[Sample], times: _Times) -> list[otlp_metrics.HistogramDataPoint]:
    """Return a point for each set of labels; OTLP counts each bucket alone, Prometheus with all smaller ones."""
    grouped: dict[tuple[tuple[str, str], ...], dict[str, float]] = {}
    for sample in samples:
        labels = tuple(sorted((name, value) for name, value in sample.labels.items() if name != "le"))
        kind = sample.labels.get("le") or sample.name.rpartition("_")[2]
        grouped.setdefault(labels, {})[kind] = sample.value
    points = []
    for labels, values in grouped.items():
        count, total = values.pop("count"), values.pop("sum")
        values.pop("created", None)
        bounds = sorted((float(bound), reached) for bound, reached in values.items())
        reached = [0, *(int(value) for _bound, value in bounds)]
        points.append(
            otlp_metrics.HistogramDataPoint(
                attributes=_attributes(dict(labels)),
                count=int(count),
                sum=total,
                explicit_bounds=[bound for bound, _value in bounds[:-1]],
                bucket_counts=[after - before for before, after in pairwise(reached)],
                start_time_unix_nano=times.started_ns,
                time_unix_nano=times.now_ns,
            )
        )
    return points


def _attributes(values: Mapping[str, AttributeValue]) -> list[KeyValue]:
    return [KeyValue(key=name, value=_any(value)) for name, value in values.items()]


def _any(value: AttributeValue) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, tuple):
        return AnyValue(array_value=ArrayValue(values=[AnyValue(string_value=one) for one in value]))
    return AnyValue(string_value=value)
