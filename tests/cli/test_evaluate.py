"""`everylabel evaluate` and `everylabel compare`: tables for people, JSON for programs."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.cli.conftest import Run, write_data, write_lines


def test_the_tables(run: Run, model: Path, data: Path) -> None:
    result = run("evaluate", model, data)
    assert result.exit_code == 0
    assert "popularity on test: 3 documents, 4 labels" in result.stdout
    for word in ("P@1", "nDCG@5", "head", "middle", "tail", "unseen", "all"):
        assert word in result.stdout


def test_the_json(run: Run, model: Path, data: Path) -> None:
    result = run("evaluate", model, data, "--json", "--quiet")
    found = json.loads(result.stdout)
    assert result.stderr == ""
    assert found["values"]["P@1"] == pytest.approx(1 / 3)  # of three documents only the first has the frequent label
    assert found["bands"]["unseen"]["R@10"] == 0
    assert set(found["bands"]) == {"head", "middle", "tail", "unseen", "all"}
    assert (found["method"], found["split"], found["n_docs"], found["n_labels"]) == ("popularity", "test", 3, 4)


@pytest.mark.parametrize(("arguments", "state"), [([], "calibrated"), (["--no-calibrate"], "not calibrated")])
def test_how_far_scores_are_from_probabilities(
    run: Run, sampled: Path, tmp_path: Path, arguments: list[str], state: str
) -> None:
    model = tmp_path / "model"
    assert run("fit", sampled, "--method", "tfidf", *arguments, "-o", model).exit_code == 0
    found = json.loads(run("evaluate", model, sampled, "--json", "--quiet").stdout)["calibration"]
    assert found["calibrated"] is (state == "calibrated")
    assert found["k"] == 10
    assert 0 < found["tail"]["pairs"] < found["seen"]["pairs"] < found["all"]["pairs"] <= 920
    assert found["seen"]["pairs"] + found["unseen"]["pairs"] == found["all"]["pairs"]
    for name in ("all", "seen", "tail", "unseen"):
        bins = found[name]["bins"]
        error = sum(one["pairs"] * abs(one["probability"] - one["share"]) for one in bins) / found[name]["pairs"]
        assert found[name]["ECE"] == pytest.approx(error)
    ece = {name: f"{100 * found[name]['ECE']:.1f}" for name in ("all", "seen", "tail", "unseen")}
    line = run("evaluate", model, sampled).stdout.splitlines()[-1]
    assert line == (
        f"expected calibration error of the top 10, {state}: {ece['all']} "
        f"(seen labels {ece['seen']}, tail {ece['tail']}, unseen {ece['unseen']})"
    )


def test_new_labels_between_the_others(run: Run, fitted_tagger: Path, sampled: Path) -> None:
    """More of them are among the first ten, and each has the probability that it has by itself."""
    by_probability, other = (
        json.loads(run("evaluate", fitted_tagger, sampled, "--json", "--new-labels", order).stdout)
        for order in ("group", "interleave")
    )
    assert other["calibration"]["unseen"]["pairs"] > by_probability["calibration"]["unseen"]["pairs"]
    assert other["bands"]["unseen"]["R@10"] >= by_probability["bands"]["unseen"]["R@10"]
    assert other["calibration"]["unseen"]["ECE"] < 0.2


def test_a_method_that_suggests_no_unseen_label_has_no_error_for_them(run: Run, model: Path, data: Path) -> None:
    found = json.loads(run("evaluate", model, data, "--json").stdout)["calibration"]
    assert found["unseen"] == {"ECE": None, "by_chance": None, "pairs": 0, "bins": []}
    assert "unseen -)" in run("evaluate", model, data).stdout


def svg_text(file: Path) -> str:
    return " ".join(ElementTree.parse(file).getroot().itertext())


def test_pictures_of_one_model(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    result = run("evaluate", model, data, "--plots", tmp_path / "new" / "plots")
    assert result.exit_code == 0, result.output
    files = sorted(path.name for path in (tmp_path / "new" / "plots").iterdir())
    assert files == [f"{name}.{kind}" for name in ("bands", "frequency", "reliability") for kind in ("png", "svg")]
    assert "wrote frequency, bands, reliability to" in result.stderr
    assert "popularity" in svg_text(tmp_path / "new" / "plots" / "frequency.svg")
    assert "all: ECE" in svg_text(tmp_path / "new" / "plots" / "reliability.svg")


def test_pictures_of_several_methods(run: Run, sampled: Path, tmp_path: Path) -> None:
    methods = ["popularity", "tfidf", "bm25"]
    result = run("compare", sampled, "--methods", ",".join(methods), "--plots", tmp_path / "plots", "--json")
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["calibration"]["calibrated"] for row in rows] == [False] * 3
    for picture in ("frequency", "bands", "reliability"):
        text = svg_text(tmp_path / "plots" / f"{picture}.svg")
        assert all(name in text for name in methods)


def test_plots_without_matplotlib_say_what_to_install_before_any_work(
    run: Run, model: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    (tmp_path / "curves").mkdir()
    for command in (
        ["evaluate", model, data],
        ["compare", data, "--methods", "popularity"],
        ["curves", tmp_path / "curves"],
    ):
        result = run(*command, "--plots", tmp_path / "plots")
        assert result.exit_code == 4
        assert "pip install 'everylabel[plots]'" in result.stderr
        assert result.stdout == ""
    assert run("evaluate", model, data).exit_code == 0
    assert not (tmp_path / "plots").exists()


def test_training_curves(run: Run, tmp_path: Path) -> None:
    for folder, name in (("a", "stage-1"), ("a", "stage-2"), ("b", "stage-1")):
        (tmp_path / folder).mkdir(exist_ok=True)
        lines: list[dict[str, object]] = [{"step": i, "loss": 1 / i} for i in range(1, 30)]
        write_lines(tmp_path / folder / f"{name}.jsonl", [*lines, {"step": 30, "loss": None, "score": 0.5}])
    result = run("curves", tmp_path / "a", "--plots", tmp_path / "plots")
    assert result.exit_code == 0, result.output
    assert {"stage-1", "stage-2", "step", "score of the evaluation"} <= set(words(tmp_path / "plots" / "training.svg"))
    assert run("curves", tmp_path / "a", tmp_path / "b" / "stage-1.jsonl", "--plots", tmp_path / "plots").exit_code == 0
    names = {str(tmp_path / name) for name in ("a/stage-1", "a/stage-2", "b/stage-1")}
    assert names <= set(words(tmp_path / "plots" / "training.svg"))


def words(file: Path) -> list[str]:
    return [text.strip() for text in ElementTree.parse(file).getroot().itertext()]


def test_what_is_no_training_curve(run: Run, data: Path, tmp_path: Path) -> None:
    for path in (tmp_path, data, data / "labels.jsonl"):
        result = run("curves", path, "--plots", tmp_path / "plots")
        assert result.exit_code == 3
        assert "no loss curve here" in result.stderr
    assert run("curves", tmp_path / "missing", "--plots", tmp_path / "plots").exit_code == 2
    assert run("curves", tmp_path).exit_code == 2


def test_labels_are_matched_by_id_and_unknown_ones_count_as_missed(run: Run, model: Path, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    labels = [{"id": "other", "name": "Not in the model"}, {"id": "rail", "name": "R"}, {"id": "sea", "name": "S"}]
    write_lines(data / "labels.jsonl", labels)
    rows = [{"id": "0", "text": "a", "labels": ["sea"]}, {"id": "1", "text": "b", "labels": ["sea", "other"]}]
    write_lines(data / "test.jsonl", rows)
    table = run("evaluate", model, data)
    assert table.exit_code == 0
    assert "1 labels of the data are not in the model's vocabulary; their 1 pairs count as missed" in table.stderr
    found = json.loads(run("evaluate", model, data, "--json").stdout)
    assert (found["n_unknown_labels"], found["n_unknown_pairs"], found["n_labels"]) == (1, 1, 5)
    assert found["values"]["P@1"] == 1
    assert found["values"]["R@10"] == pytest.approx(0.75)


def test_a_split_that_is_not_there(run: Run, model: Path, data: Path) -> None:
    result = run("evaluate", model, data, "--split", "dev")
    assert result.exit_code == 3
    assert "dev" in result.stderr


def test_psp_with_the_constants_of_a_published_data_set(run: Run, sampled: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    assert run("fit", sampled, "--method", "tfidf", "--no-calibrate", "-o", model).exit_code == 0
    found = {
        name: json.loads(run("evaluate", model, sampled, "--json", "--propensity", name).stdout)
        for name in ("default", "Amazon-670K", "0.6,2.6", "wiki-500k")
    }
    assert found["default"]["propensity"] == [0.55, 1.5]
    assert found["Amazon-670K"]["values"] == found["0.6,2.6"]["values"]
    assert len({found[name]["values"]["PSP@5"] for name in ("default", "Amazon-670K", "wiki-500k")}) == 3
    assert found["default"]["values"]["P@5"] == found["wiki-500k"]["values"]["P@5"]
    for name in ("eurlex", "1,2,3", "0,1"):
        refused = run("evaluate", model, sampled, "--propensity", name)
        assert (refused.exit_code, refused.stdout) == (4, "")
        assert refused.stderr.count("\n") == 1


def test_f1_of_more_decisions(run: Run, sampled: Path, tmp_path: Path) -> None:
    """DEPL's paper has F1@19 for Wiki10-31K, and the micro sign test."""
    result = run("compare", sampled, "--methods", "popularity,tfidf", "--f1-at", "19", "--json")
    _, second = (json.loads(line) for line in result.stdout.splitlines())
    assert {"macro-F1@19", "tail-F1@19"} <= set(second["values"])
    assert set(second["difference"]["sign_test@19"]) == {"wins", "losses", "p_value"}
    assert set(second["difference"]["tail-F1@19"]) == {"difference", "p_value"}
    assert "macro-F1@19" in run("compare", sampled, "--methods", "popularity", "--f1-at", "19").stdout
    model = tmp_path / "model"
    assert run("fit", sampled, "--method", "tfidf", "--no-calibrate", "-o", model).exit_code == 0
    shown = run("evaluate", model, sampled, "--f1-at", "19").stdout
    assert {"macro-F1@19", "F1-tested@19", "R@19"} <= set(shown.split())
    as_json = json.loads(run("evaluate", model, sampled, "--f1-at", "19", "--json").stdout)
    assert as_json["values"]["macro-F1@19"] == second["values"]["macro-F1@19"]
    assert run("evaluate", model, sampled, "--f1-at", "101").exit_code == 2


def test_compare_prints_a_row_a_method(run: Run, data: Path) -> None:
    result = run("compare", data, "--methods", "popularity")
    assert result.exit_code == 0
    heading, columns, row = result.stdout.splitlines()
    assert "fitted on 4 documents, evaluated on test: 3 documents" in heading
    assert columns.split()[:3] == ["method", "P@1", "P@5"]
    assert row.split()[:2] == ["popularity", "33.3"]
    *_, same = run("compare", data, "--methods", "popularity,tfidf").stdout.splitlines()
    assert re.search(r"[-+]\d+\.\d \([-+].* to [-+].*\), p = \d\.\d{4}; sign test p = \d\.\d{4}$", same)


def test_compare_as_json_is_a_line_a_method(run: Run, tmp_path: Path) -> None:
    assert run("sample", tmp_path / "sample").exit_code == 0
    result = run("compare", tmp_path / "sample", "--methods", "popularity, knn", "--json", "--quiet")
    assert result.exit_code == 0, result.output
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert (first["method"], second["method"]) == ("popularity", "knn")
    assert first["difference"] is None
    assert second["difference"]["first"] == "popularity"
    assert set(second["difference"]["nDCG@5"]) == {"difference", "low", "high", "p_value"}
    assert set(second["difference"]["sign_test@5"]) == {"wins", "losses", "p_value"}
    assert second["fit_seconds"] >= 0


@pytest.mark.parametrize(
    ("methods", "code"), [("popularity,popularity", 2), ("", 2), ("popularity,nonsense", 4), (",", 2)]
)
def test_compare_refuses_bad_lists_before_it_starts(run: Run, data: Path, methods: str, code: int) -> None:
    result = run("compare", data, "--methods", methods)
    assert (result.exit_code, result.stdout) == (code, "")


def test_results_are_written_into_the_card(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(model, tmp_path / "model"))
    assert run("evaluate", own, data, "--card", "--quiet").exit_code == 0
    assert "In percent, on 3 documents of" in (own / "README.md").read_text()
    (own / "README.md").write_text("mine")
    refused = run("evaluate", own, data, "--card", "--quiet")
    assert (refused.exit_code, refused.stdout) == (4, "")
    assert "stays as it is" in refused.stderr
