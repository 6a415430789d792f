"""A process that has fitted or ranked may be forked, at any moment and from any thread: its children work.

In processes of their own, with a time limit: what hangs is the child, or the one that waits for it.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from tests.encoders.conftest import make_folder

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.forks import Lock
from everylabel.tagger.tagger import Tagger

WORDS = ["sea", "ship", "law", "tax", "milk", "wine", "fish", "trade", "customs", "union"]
TEXTS = [f"the {word} and the {WORDS[i // 3]} of the union {i}" for i, word in enumerate(3 * WORDS)]

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
    pytest.mark.timeout(500),
]

BEGIN = """
import functools, multiprocessing, os, sys, threading, time
import everylabel
import numpy as np
from everylabel.parallel import n_openmp_threads, parallel_map

MODEL, TEXTS = sys.argv[1], [f"the ship and the tax of the union {i}" for i in range(300)]


def ranked(method, texts):
    return method.rank(texts, 3).ids.tolist()


def in_child(work):
    "In a forked process, which has minutes, and needs less than a second."
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    end = time.monotonic() + 200
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return "hangs"
"""


ROOT = Path(__file__).parents[1]


def dataset() -> Dataset:
    labels = LabelSet.of([Label(word, word.title()) for word in WORDS])
    return Dataset(Documents.of(TEXTS), labels, pairs_from_lists([[i % 10, i // 3] for i in range(30)], 10))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tagger whose experts use all that has threads: our kernels, torch, tokenizers; LightGBM fitted it."""
    folder = tmp_path_factory.mktemp("forks")
    tiny = str(make_folder(folder, WORDS))
    settings = {
        "semantic": {"encoder": {"teacher": tiny, "lexical": 64}},
        "hybrid": {"encoder": {"kind": tiny, "onnx": False}, "learned_weight": 0.0},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVERYLABEL_CACHE", str(folder / "cache"))
        Tagger(experts=("tfidf", "knn", "svm", "semantic", "hybrid"), settings=settings).fit(dataset()).save(
            folder / "saved"
        )
    return folder / "saved"


def run(script: str, model: Path, tmp_path: Path, **environment: str) -> list[str]:
    """What the script prints, in a process with two threads for everybody."""
    file = tmp_path / "script.py"
    file.write_text(BEGIN + textwrap.dedent(script), encoding="utf-8")
    here = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    here["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [here.get("PYTHONPATH")])])
    threads = {"EVERYLABEL_THREADS": "2", "OMP_NUM_THREADS": "2", "EVERYLABEL_CACHE": str(model.parent / "cache")}
    command = [sys.executable, "-W", "ignore", str(file), str(model)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=450, check=False, env=here | threads | environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.slow
def test_a_pool_of_processes_ranks_as_its_parent_does(model: Path, tmp_path: Path) -> None:
    """However it is started: loaded, used, then handed to others, who get it by the fork or by pickle."""
    found = run(
        """
        if __name__ == "__main__":
            method = everylabel.load(MODEL)
            expected = ranked(method, TEXTS)
            for start in ("fork", "spawn", "forkserver"):
                with multiprocessing.get_context(start).Pool(2) as pool:
                    found = pool.map_async(functools.partial(ranked, method), [TEXTS, TEXTS]).get(200)
                    print(start, found == [expected, expected])
        """,
        model,
        tmp_path,
    )
    assert found == ["fork", "True", "spawn", "True", "forkserver", "True"]


def test_children_of_a_process_whose_threads_are_at_work(model: Path, tmp_path: Path) -> None:
    """Forked from the main thread and from another one, while four threads rank: whatever lock they hold is open."""
    found = run(
        """
        if __name__ == "__main__":
            method = everylabel.load(MODEL)
            expected = ranked(method, TEXTS[:40])
            busy = True

            def work():
                while busy:
                    method.rank([f"{word} {time.monotonic()} new words" for word in TEXTS[:40]], 3)

            def forks(n):
                for _ in range(n):
                    print(in_child(lambda: ranked(method, TEXTS[:40]) == expected))

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            forks(3)
            other = threading.Thread(target=forks, args=(3,))
            other.start()
            other.join()
            busy = False
            for thread in threads:
                thread.join()
            assert ranked(method, TEXTS[:40]) == expected
        """,
        model,
        tmp_path,
    )
    assert found == ["0"] * 6


def test_a_fit_in_the_child_of_a_process_that_has_fitted(model: Path, tmp_path: Path) -> None:
    """LightGBM's and torch's threads are gone: a child that asked for two of them would wait for ever."""
    found = run(
        """
        if __name__ == "__main__":
            import lightgbm, torch

            x = np.random.default_rng(0).random((5_000, 10))
            square = torch.rand(1_000, 1_000)

            def trees(n):
                settings = {"objective": "binary", "verbose": -1, "num_threads": n}
                lightgbm.train(settings, lightgbm.Dataset(x, x[:, 0] > 0.5, params={"verbose": -1}), 5)
                return True

            def products():
                layer = torch.nn.Linear(1_000, 1_000)
                layer(square @ square).sum().backward()
                return True

            torch.set_num_threads(2)
            trees(2)
            products()
            print(n_openmp_threads(), in_child(lambda: n_openmp_threads() == 1 and torch.get_num_threads() == 1))
            print(in_child(lambda: trees(n_openmp_threads())), in_child(products))
            print(in_child(lambda: sum(parallel_map(int, "12345")) == 15))  # our own threads are made anew
            old = everylabel.load(MODEL)
            from tests.test_forks import dataset

            fit = lambda: everylabel.Tagger(experts=("tfidf", "svm", "semantic"), settings=old.settings).fit(dataset())
            fit()
            print(in_child(lambda: bool(fit().experts_)))
        """,
        model,
        tmp_path,
    )
    assert found == ["2", "0", "0", "0", "0", "0"]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"EVERYLABEL_THREADS": "1", "OMP_NUM_THREADS": "2"}, ["1", "1", "1"]),
        pytest.param({"EVERYLABEL_THREADS": "", "OMP_NUM_THREADS": "1"}, ["1", "1", "1"], marks=pytest.mark.slow),
        pytest.param({"EVERYLABEL_THREADS": "2", "OMP_NUM_THREADS": "1"}, ["2", "2", "2"], marks=pytest.mark.slow),
    ],
)
def test_everybody_has_as_many_threads_as_is_said(
    model: Path, tmp_path: Path, variables: dict[str, str], expected: list[str]
) -> None:
    """Our pool, torch in each thread that works with it, and the products of numpy and scipy, by one variable."""
    pytest.importorskip("threadpoolctl")
    found = run(
        """
        if __name__ == "__main__":
            import threadpoolctl
            from everylabel.parallel import n_threads

            from everylabel.encoders.device import encoding_device

            encoding_device("auto")  # as everybody who encodes or trains asks
            import scipy.linalg, torch

            blas = {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}
            print(n_threads(), torch.get_num_threads(), *blas)
        """,
        model,
        tmp_path,
        **variables,
    )
    assert found == expected


# --- parts


def test_a_lock_is_open_in_a_child_unless_who_forked_holds_it(model: Path, tmp_path: Path) -> None:
    found = run(
        """
        from everylabel.forks import Lock

        def free(lock):
            with lock:
                return True

        if __name__ == "__main__":
            mine, others, held = Lock(), Lock(), threading.Event()

            def hold():
                with others:
                    held.set()
                    time.sleep(5)

            threading.Thread(target=hold, daemon=True).start()
            held.wait()
            print(in_child(lambda: free(others)))
            with mine:
                print(in_child(lambda: free(mine)))
            print(in_child(lambda: free(mine)))
        """,
        model,
        tmp_path,
    )
    assert found == ["0", "0", "0"]


def test_a_copy_of_a_lock_is_open() -> None:
    with Lock() as lock:
        copy = pickle.loads(pickle.dumps(lock))
        assert copy is not lock
        with copy, lock:
            pass


def test_a_kernel_that_is_being_compiled_is_waited_for(model: Path, tmp_path: Path) -> None:
    """A child that needs numba, too, would wait for a lock whose holder is not there."""
    found = run(
        """
        import numba

        @numba.njit
        def kernel(x):
            return x + 1

        if __name__ == "__main__":
            from numba.core.compiler_lock import global_compiler_lock

            def compile_for_long():
                with global_compiler_lock:
                    held.set()
                    time.sleep(0.5)

            held = threading.Event()
            threading.Thread(target=compile_for_long).start()
            held.wait()
            print(in_child(lambda: kernel(1) == 2))
        """,
        model,
        tmp_path,
    )
    assert found == ["0"]


def test_a_loaded_model_can_be_sent_to_another_process(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYLABEL_CACHE", str(model.parent / "cache"))
    loaded = everylabel.load(model)
    expected = loaded.rank(TEXTS, 4)  # and what is made on first use is there
    sent = pickle.loads(pickle.dumps(loaded))
    np.testing.assert_array_equal(sent.rank(TEXTS, 4).ids, expected.ids)
    np.testing.assert_array_equal(sent.rank(TEXTS, 4).scores, expected.scores)
    sent.remove_labels(["sea"])
    assert len(loaded.rank(TEXTS, 10).ids[0]) == 10
