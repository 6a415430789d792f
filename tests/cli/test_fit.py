"""`everylabel fit`: what is fitted, with which settings, and what is refused before any work is done."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Run, write_lines
from tests.encoders import conftest as encoders

import everylabel
from everylabel.data import load_dataset
from everylabel.data.dataset import Dataset
from everylabel.data.splits import keep_label_share, keep_pair_share
from everylabel.methods.words.popularity import Popularity
from everylabel.tagger.tagger import Tagger

tiny_folder = encoders.made_folder


def manifest(model: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((model / "manifest.json").read_text())
    return found


def test_writes_a_model_and_says_so(run: Run, data: Path, tmp_path: Path) -> None:
    result = run("fit", data, "--method", "popularity", "-o", tmp_path / "model")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "fitted popularity on 4 documents with 3 of 4 labels" in result.stderr
    assert manifest(tmp_path / "model")["method"] == "popularity"


def test_quiet_is_silent(run: Run, data: Path, tmp_path: Path) -> None:
    result = run("fit", data, "--method", "popularity", "-o", tmp_path / "model", "--quiet")
    assert (result.exit_code, result.output) == (0, "")


@pytest.mark.parametrize(("given", "expected"), [([], 5), (["--set", "random_state=6"], 6)])
def test_set_wins_over_the_file_which_wins_over_defaults(
    run: Run, data: Path, tmp_path: Path, given: list[str], expected: int
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('method = "popularity"\nrandom_state = 5\n')
    assert run("fit", data, "--config", file, *given, "-o", tmp_path / "model").exit_code == 0
    found: dict[str, Any] = manifest(tmp_path / "model")
    assert found["method"] == "popularity"
    assert found["config"]["random_state"] == expected


def test_the_option_wins_over_the_file_s_method(run: Run, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('method = "no-such-method"\n')
    result = run("fit", data, "--config", file, "--method", "popularity", "-o", tmp_path / "model")
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--method", "populraity"], 4, "unknown method 'populraity'; did you mean 'popularity'?"),
        (["--method", "popularity", "--set", "random_sate=1"], 4, "'random_sate'; did you mean random_state?"),
        (["--method", "popularity", "--set", "random_state=x"], 4, "random_state must be a whole number; got 'x'"),
        (["--method", "popularity", "--set", "random_state"], 4, "expected key=value"),
        (["--config", "missing.toml"], 4, "no such configuration file"),
        (["--method", "popularity", "--no-pairs"], 3, "learns from labelled documents"),
        (["--on-bad-row", "maybe"], 2, "--on-bad-row"),
        (["--nonsense"], 2, "No such option"),
    ],
)
def test_mistakes(run: Run, data: Path, tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    result = run("fit", data, *arguments, "-o", tmp_path / "model")
    assert result.exit_code == code
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "model").exists()


def test_missing_data_is_a_data_error(run: Run, tmp_path: Path) -> None:
    result = run("fit", tmp_path / "none", "--method", "popularity", "-o", tmp_path / "model")
    assert result.exit_code == 3
    assert len(result.stderr.splitlines()) == 1


def test_without_output_is_wrong_usage(run: Run, data: Path) -> None:
    assert run("fit", data).exit_code == 2


def test_a_folder_in_the_way_is_refused_before_fitting(
    run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file.txt").write_text("mine")
    monkeypatch.setattr(Popularity, "_fit", lambda *_: pytest.fail("was fitted"))
    result = run("fit", data, "--method", "popularity", "-o", tmp_path)
    assert result.exit_code == 5
    assert "is not a model" in result.stderr


def test_an_interrupt_leaves_nothing(run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Popularity, "_fit", interrupted)
    result = run("fit", data, "--method", "popularity", "-o", tmp_path / "model")
    assert result.exit_code == 130
    assert list(tmp_path.iterdir()) == []


def test_bad_rows_stop_or_are_skipped(run: Run, data: Path, tmp_path: Path) -> None:
    broken = tmp_path / "data"
    broken.mkdir()
    for file in data.iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    with (broken / "train.jsonl").open("a") as out:
        out.write("no json\n")
    stopped = run("fit", broken, "--method", "popularity", "-o", tmp_path / "model")
    assert stopped.exit_code == 3
    assert "train.jsonl:5" in stopped.stderr
    skipped = run("fit", broken, "--method", "popularity", "-o", tmp_path / "model", "--on-bad-row", "skip")
    assert skipped.exit_code == 0
    assert "skipped 1 bad row" in skipped.stderr


def test_no_curves_without_training(run: Run, data: Path, tmp_path: Path) -> None:
    result = run("fit", data, "--method", "popularity", "-o", tmp_path / "model", "--curves", tmp_path / "curves")
    assert result.exit_code == 0
    assert "popularity has no training steps" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_curves_need_a_folder(run: Run, data: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    result = run("fit", data, "--method", "popularity", "-o", tmp_path / "model", "--curves", tmp_path / "file")
    assert result.exit_code == 2
    assert not (tmp_path / "model").exists()


def test_a_method_that_does_not_train_loads_no_torch(data: Path, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom everylabel.cli.main import main\n"
        "try: main()\nfinally: print([name for name in ('torch', 'safetensors') if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, "fit", str(data), "-m", "popularity", "-o", str(tmp_path / "model"), "-q"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.fixture
def tiny(tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Settings: an encoder that is loaded at once."""
    monkeypatch.setenv("EVERYLABEL_CACHE", str(tmp_path / "cache"))
    return ["--set", "encoder.kind=static", "--set", f"encoder.teacher={tiny_folder}"]


@pytest.fixture
def learned(tiny_folder: Path) -> list[str]:
    """The same for hybrid's own one."""
    return ["--set", f"learned.teacher={tiny_folder}"]


@pytest.mark.parametrize("arguments", [["--no-pairs"], ["--pair-share", "0"]])
def test_hybrid_without_pairs(
    run: Run, data: Path, tmp_path: Path, tiny: list[str], learned: list[str], arguments: list[str]
) -> None:
    result = run("fit", data, "--method", "hybrid", *arguments, *tiny, *learned, "-o", tmp_path / "model")
    assert result.exit_code == 0, result.output
    assert manifest(tmp_path / "model")["method"] == "hybrid"
    assert "fitted hybrid on 4 documents with 0 of 4 labels" in result.stderr
    tagged = run("tag", tmp_path / "model", "--json", input="about aviation\n")
    assert json.loads(tagged.stdout)["labels"][0]["id"] == "sky"


QUICK = ["--set", 'experts=["tfidf", "knn"]']


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Dataset, Dataset | None]]:
    """What a tagger was fitted on, and blended on."""
    calls: list[tuple[Dataset, Dataset | None]] = []
    fit = Tagger.fit

    def noted(self: Tagger, dataset: Dataset, dev: Dataset | None = None, **rest: Any) -> Tagger:
        calls.append((dataset, dev))
        return fit(self, dataset, dev, **rest)

    monkeypatch.setattr(Tagger, "fit", noted)
    return calls


def test_the_tagger_is_the_default(run: Run, data: Path, tmp_path: Path) -> None:
    result = run("fit", data, *QUICK, "-o", tmp_path / "model")
    assert result.exit_code == 0, result.output
    assert manifest(tmp_path / "model")["method"] == "tagger"
    assert "plan: 4 labelled documents" in result.stderr
    assert "fitted tagger on 4 documents with 3 of 4 labels" in result.stderr
    assert "its experts: tfidf, knn; its scores are " in result.stderr
    assert run("evaluate", tmp_path / "model", data, "--json").exit_code == 0


@pytest.mark.parametrize("arguments", [["--no-pairs"], ["--pair-share", "0"]])
def test_the_tagger_is_the_default_without_pairs(
    run: Run, data: Path, tmp_path: Path, tiny: list[str], learned: list[str], arguments: list[str]
) -> None:
    settings = [one if one == "--set" else f"settings.hybrid.{one}" for one in tiny + learned]
    result = run("fit", data, *arguments, *settings, "-o", tmp_path / "model")
    assert result.exit_code == 0, result.output
    assert manifest(tmp_path / "model")["method"] == "tagger"
    assert "its experts: hybrid; its scores are probabilities as other corpora have them" in result.stderr
    tagged = run("tag", tmp_path / "model", "--threshold", "0.01", "--json", input="about aviation\n")
    assert json.loads(tagged.stdout)["labels"][0]["id"] == "sky"
    assert "calibrated" not in tagged.stderr


def test_quiet_tagger(run: Run, data: Path, tmp_path: Path) -> None:
    result = run("fit", data, *QUICK, "-o", tmp_path / "model", "--quiet")
    assert (result.exit_code, result.output) == (0, "")


def test_the_tagger_gets_the_dev_split(run: Run, with_dev: Path, tmp_path: Path, given: list[Any]) -> None:
    result = run("fit", with_dev, *QUICK, "-o", tmp_path / "model")
    assert result.exit_code == 0, result.output
    ((dataset, dev),) = given
    assert (len(dataset), dev.documents.ids[0], len(dev)) == (4, "dev0", 30)
    assert "held-out documents" not in result.stderr  # it is calibrated once, by itself


@pytest.mark.parametrize("case", ["no dev", "dev is what is fitted", "no pairs", "dev without labels"])
def test_the_tagger_without_a_dev_split(
    run: Run, data: Path, with_dev: Path, tmp_path: Path, given: list[Any], case: str
) -> None:
    arguments = {"dev is what is fitted": ["--split", "dev"], "no pairs": ["--no-pairs"]}.get(case, [])
    if case == "dev without labels":
        write_lines(with_dev / "dev.jsonl", [{"id": "0", "text": "a boat"}])
    folder = data if case == "no dev" else with_dev
    result = run("fit", folder, "--set", 'experts=["tfidf"]', *arguments, "-o", tmp_path / "model")
    assert result.exit_code == 0, result.output
    assert [dev for _, dev in given] == [None]


def test_the_tagger_calibrates_without_training_pairs(run: Run, with_dev: Path, tmp_path: Path) -> None:
    (with_dev / "train.jsonl").unlink()
    result = run("fit", with_dev, "--set", 'experts=["tfidf"]', "-o", tmp_path / "model")
    assert "its experts: tfidf; its scores are calibrated" in result.stderr


def test_a_share_is_held_out_for_the_tagger(run: Run, with_dev: Path, tmp_path: Path, given: list[Any]) -> None:
    result = run("fit", with_dev, *QUICK, "--calibrate-share", "0.25", "-o", tmp_path / "model")
    assert result.exit_code == 0, result.output
    ((dataset, dev),) = given
    assert (len(dataset), len(dev)) == (3, 1)
    assert sorted(dataset.documents.ids + dev.documents.ids) == [f"train{i}" for i in range(4)]


def test_a_tagger_that_is_not_calibrated_ranks_the_same(
    run: Run, sampled: Path, fitted_tagger: Path, tmp_path: Path
) -> None:
    settings = ["--set", 'experts=["tfidf", "knn", "svm"]', "--no-calibrate"]
    result = run("fit", sampled, *settings, "-o", tmp_path / "model")
    assert "its experts: tfidf, knn, svm; its scores are not calibrated" in result.stderr
    one, other = everylabel.load(fitted_tagger), everylabel.load(tmp_path / "model")
    assert one.calibration_ is not None
    assert other.calibration_ is None
    np.testing.assert_array_equal(one.rank(["a boat"]).ids, other.rank(["a boat"]).ids)


def test_the_budget(run: Run, data: Path, tmp_path: Path) -> None:
    assert run("fit", data, *QUICK, "--budget", "90", "-o", tmp_path / "model").exit_code == 0
    found: Any = manifest(tmp_path / "model")["config"]
    assert found["budget"] == "90"
    for arguments, code, message in (
        (["--method", "popularity"], 2, "only the tagger has a budget, and the method is 'popularity'"),
        (["--set", "method=knn"], 2, "only the tagger has a budget, and the method is 'knn'"),
        (["--budget", "soon"], 4, "budget must be a time such as 90s, 30m, 2h or 1h30m"),
    ):
        result = run("fit", data, "--budget", "30m", *arguments, "-o", tmp_path / "other")
        assert result.exit_code == code
        assert message in " ".join(result.stderr.replace("│", " ").split())


def test_a_fast_tagger(run: Run, data: Path, tmp_path: Path) -> None:
    assert run("fit", data, "--accuracy", "fast", "-o", tmp_path / "model").exit_code == 0
    found: Any = manifest(tmp_path / "model")["config"]
    assert found["accuracy"] == "fast"
    result = run("fit", data, "-m", "knn", "--accuracy", "fast", "-o", tmp_path / "other")
    assert result.exit_code == 2
    said = " ".join(result.stderr.replace("│", " ").split())
    assert "only the tagger has an accuracy, and the method is 'knn'" in said


def test_a_fit_within_a_limit_of_memory(run: Run, data: Path, tmp_path: Path) -> None:
    chosen = ("--set", 'experts=["tfidf", "knn"]')
    assert run("fit", data, "--memory", "1G", *chosen, "-o", tmp_path / "model").exit_code == 0
    found: Any = manifest(tmp_path / "model")["config"]
    assert found["memory"] == "1G"
    for arguments, code, message in [
        (["--memory", "20M"], 4, "no expert fits into 20 MB"),
        (["--memory", "1G", "--ray", "local"], 2, "a cluster knows the memory of its nodes"),
    ]:
        result = run("fit", data, *arguments, "-o", tmp_path / "other")
        assert result.exit_code == code
        assert message in " ".join(result.stderr.replace("│", " ").split())
        assert not (tmp_path / "other").exists()


def test_xr_linear_by_its_name(run: Run, data: Path, tmp_path: Path) -> None:
    assert run("fit", data, "--method", "xr-linear", "-o", tmp_path / "model").exit_code == 0
    assert manifest(tmp_path / "model")["method"] == "xr-linear"


def test_settings_without_a_method_are_those_of_the_tagger(run: Run, data: Path, tmp_path: Path) -> None:
    result = run("fit", data, "--set", "dense_weight=0.5", "-o", tmp_path / "model")
    assert result.exit_code == 4
    assert "unknown setting 'dense_weight'" in result.stderr
    assert not (tmp_path / "model").exists()


@pytest.fixture
def no_train(data: Path, tmp_path: Path) -> Path:
    """The same data without the training documents."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("labels.jsonl", "test.jsonl"):
        (folder / name).write_bytes((data / name).read_bytes())
    return folder


def test_a_vocabulary_alone(run: Run, no_train: Path, tmp_path: Path, tiny: list[str], learned: list[str]) -> None:
    result = run("fit", no_train, "--method", "hybrid", *tiny, *learned, "-o", tmp_path / "model")
    assert result.exit_code == 0, result.output
    assert f"{no_train} has no training documents: fitting on the vocabulary alone" in result.stderr
    assert "fitted hybrid on 0 documents with 0 of 4 labels" in result.stderr
    assert manifest(tmp_path / "model")["method"] == "hybrid"
    measured = run("evaluate", tmp_path / "model", no_train, "--json")
    assert measured.exit_code == 0, measured.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "popularity"], "learns from labelled documents"),
        (["--method", "tfidf", "--split", "dev"], "there is no split 'dev'"),
        (["--method", "tfidf", "--label-share", "0.5"], "needs labelled documents"),
        (["--method", "tfidf", "--pair-share", "0.5"], "needs labelled documents"),
    ],
)
def test_what_a_vocabulary_alone_is_not_enough_for(
    run: Run, no_train: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = run("fit", no_train, *arguments, "-o", tmp_path / "model")
    assert result.exit_code == 3
    assert message in result.stderr
    assert not (tmp_path / "model").exists()


def counts(model: Path) -> list[int]:
    """Documents of each label that the model learned from."""
    found: list[int] = everylabel.load(model).state()["counts"].tolist()
    return found


def test_a_share_of_the_labels_or_of_the_pairs(run: Run, data: Path, tmp_path: Path) -> None:
    """All pairs: sea 3, rail 1, sky 1, new 0."""

    def learned(*arguments: str) -> list[int]:
        result = run("fit", data, "--method", "popularity", *arguments, "-o", tmp_path / "model")
        assert result.exit_code == 0, result.output
        return counts(tmp_path / "model")

    assert learned() == learned("--label-share", "1") == learned("--pair-share", "1") == [3, 1, 1, 0]
    whole = load_dataset(data)
    expected, chosen = keep_label_share(whole, 0.5)
    assert learned("--label-share", "0.5") == expected.counts.tolist()
    assert len(chosen) == 2
    assert sum(expected.counts) < 5
    few = learned("--pair-share", "0.4")
    assert few == keep_pair_share(whole, 0.4).counts.tolist()
    assert sum(few) == 2
    both = keep_pair_share(expected, 0.5).counts.tolist()
    assert learned("--label-share", "0.5", "--pair-share", "0.5") == both


def test_labels_by_their_names_alone(run: Run, data: Path, tmp_path: Path) -> None:
    rows = [
        {"id": "sea", "name": "ocean", "alternatives": ["saltwater"], "description": "brine"},
        *({"id": name, "name": name} for name in ("rail", "sky", "new")),
    ]
    own = Path(shutil.copytree(data, tmp_path / "data"))
    (own / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    found = []
    for arguments in ([], ["--names-only"]):
        result = run("fit", own, "--method", "tfidf", *arguments, "-o", tmp_path / "model")
        assert result.exit_code == 0, result.output
        model = everylabel.load(tmp_path / "model")
        found.append(
            [
                model.labels_[int(i)].id
                for text in ("saltwater", "brine", "ocean")
                for i in model.rank([text], 1).ids[0]
                if i >= 0
            ]
        )
    assert found == [["sea"] * 3, ["sea"]]


@pytest.mark.parametrize("option", ["--label-share", "--pair-share"])
@pytest.mark.parametrize("share", ["1.5", "-0.1"])
def test_shares_that_are_none(run: Run, data: Path, tmp_path: Path, option: str, share: str) -> None:
    result = run("fit", data, "--method", "popularity", option, share, "-o", tmp_path / "model")
    assert result.exit_code == 4
    assert f"a share must be between 0 and 1, got {share}" in result.stderr


def test_shares_and_no_pairs_contradict(run: Run, data: Path, tmp_path: Path) -> None:
    result = run("fit", data, "--method", "tfidf", "--no-pairs", "--pair-share", "0.5", "-o", tmp_path / "model")
    assert result.exit_code == 3
    assert "no labelled pair" in result.stderr
