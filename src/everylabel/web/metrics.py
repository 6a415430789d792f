"""What is counted and timed, for Prometheus (`/metrics`); a registry an app, so that several may be in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        name = "everylabel"
        self._requests = Histogram(
            f"{name}_request_seconds", "time of a request", ["path", "method", "status"], registry=own, buckets=SECONDS
        )
        self._batch = Histogram(f"{name}_batch_documents", "documents ranked together", registry=own, buckets=SIZES)
        self._ranking = Histogram(f"{name}_batch_seconds", "time of a batch", registry=own, buckets=SECONDS)
        self._wait = Histogram(f"{name}_wait_seconds", "wait before a batch", registry=own, buckets=SECONDS)
        self._waiting = Gauge(f"{name}_waiting_documents", "documents that wait to be ranked", registry=own)
        self._documents = Counter(f"{name}_documents", "documents tagged", ["project"], registry=own)
        self._refused = Counter(f"{name}_refused", "requests and models sent away", ["reason"], registry=own)
        self._decisions = Counter(f"{name}_decisions", "decisions stored", ["project"], registry=own)
        self._version = Gauge(f"{name}_model_version", "version of the model", ["project"], registry=own)
        self._loaded = Gauge(f"{name}_model_loaded_seconds", "when it was loaded", ["project"], registry=own)
        self._swaps = Counter(f"{name}_model_swaps", "models put into another's place", ["project"], registry=own)

    def request(self, path: str, method: str, status: int, seconds: float) -> None:
        self._requests.labels(path, method, str(status)).observe(seconds)

    def ranked(self, n_documents: int, seconds: float) -> None:
        self._batch.observe(n_documents)
        self._ranking.observe(seconds)

    def waited(self, seconds: Iterable[float]) -> None:
        for one in seconds:
            self._wait.observe(one)

    def waiting(self, n_documents: Callable[[], int]) -> None:
        """Asked when the numbers are."""
        self._waiting.set_function(n_documents)

    def tagged(self, project: str, n_documents: int) -> None:
        self._documents.labels(project).inc(n_documents)

    def refused(self, reason: str) -> None:
        self._refused.labels(reason).inc()

    def decided(self, project: str, n: int = 1) -> None:
        self._decisions.labels(project).inc(n)

    def loaded(self, project: str, version: int, *, swapped: bool) -> None:
        self._version.labels(project).set(version)
        self._loaded.labels(project).set_to_current_time()
        self._swaps.labels(project).inc(int(swapped))

    def text(self) -> bytes:
        return generate_latest(self._registry)
