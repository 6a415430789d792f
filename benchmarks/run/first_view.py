"""How heavy the page is, and how soon its first view is there.

python -m benchmarks.run.first_view --alone

`everylabel serve` on the sample (a model of words), in a process of its own; a browser that has never been there opens
the page twenty times. CPU milliseconds of the page's main thread, and of the server, until the field for the text can
be seen; with --alone what the page's own clock says, too: from the beginning of the navigation until then, and until
the first paint. Of a machine that does other things those say nothing, and are not written down. Bytes are those of
scripts, style and words of one language, each file compressed as a server in front compresses it. Needs Chromium (or
EVERYLABEL_CHROMIUM).
"""

from __future__ import annotations

import gzip
import os
import shutil
from typing import Any

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from benchmarks.record import WORK, write_result
from benchmarks.run.command import plain_parser
from benchmarks.run.serving_process import Served, cpu_ms
from everylabel.tagger.tagger import Tagger
from everylabel.web.pages import FILES, STATIC
from everylabel.workflow.demo import sample_splits

TIMES = 20
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
SEEN = """() => new Promise((resolve) => {
    const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null;
    resolve({ seen: window.firstView, paint, requests: performance.getEntriesByType("resource").length + 1 });
})"""
WATCH = """new MutationObserver((_, observer) => {
    if (!document.querySelector("#text")) return;
    window.firstView = performance.now();
    observer.disconnect();
}).observe(document, { childList: true, subtree: true });"""


def main() -> None:
    parser = plain_parser(__doc__)
    parser.add_argument("--alone", action="store_true", help="nothing else runs here: what the page waits counts")
    alone = parser.parse_args().alone
    path = WORK / "models" / "first-view"
    if not path.exists():
        splits = sample_splits()
        Tagger(experts=("tfidf", "knn")).fit(splits.train, splits.dev).save(path)
    with Served([path], WORK / "first-view-state", log=WORK / "first-view.log") as served, sync_playwright() as started:
        chromium = os.environ.get("EVERYLABEL_CHROMIUM") or shutil.which("chromium") or ""
        browser = started.chromium.launch(executable_path=chromium, args=FLAGS)
        address = f"http://127.0.0.1:{served.port}/"
        opened(browser, address)  # what is read from disk the first time
        cpu, found = cpu_ms(served.pid), [opened(browser, address) for _ in range(TIMES)]
        cpu = cpu_ms(served.pid) - cpu
        version = browser.version
        browser.close()
    values: dict[str, Any] = {
        "times": TIMES,
        "alone": alone,
        "page_cpu_ms": of([one["cpu"] for one in found]),
        "server_cpu_ms": round(cpu / TIMES, 1),
        "requests": found[0]["requests"],
        "gzipped_bytes": sizes(),
        "chromium": version,
    }
    if alone:
        values["first_view_ms"] = of([one["seen"] for one in found])
        values["first_paint_ms"] = of([one["paint"] for one in found if one["paint"] is not None])
    write_result("first-view", values, f"python -m benchmarks.run.first_view{' --alone' if alone else ''}")


def opened(browser: Browser, address: str) -> dict[str, Any]:
    """By a browser without any cache."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
    page = context.new_page()
    page.add_init_script(WATCH)
    inside = context.new_cdp_session(page)
    inside.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(address)
    page.wait_for_selector("#text")
    page.wait_for_function("window.firstView !== undefined")
    found: dict[str, Any] = page.evaluate(SEEN)
    metrics = {one["name"]: one["value"] for one in inside.send("Performance.getMetrics")["metrics"]}
    found["cpu"] = 1e3 * metrics["TaskDuration"]
    context.close()
    return found


def sizes() -> dict[str, int]:
    def packed(*ends: str) -> int:
        return sum(len(gzip.compress((STATIC / name).read_bytes())) for name in FILES if name.endswith(ends))

    return {"script": packed(".js"), "style": packed(".css"), "one_language": packed("words-en.json")}


def of(times: list[float]) -> dict[str, float]:
    p50, p95 = np.percentile(times, [50, 95])
    return {"p50": round(float(p50), 1), "p95": round(float(p95), 1), "most": round(max(times), 1)}


if __name__ == "__main__":
    main()
