# ruff: noqa: RUF001 (letters of other alphabets are what this is about)
"""Which of several languages a text is in."""

from __future__ import annotations

import subprocess
import sys

import pytest

from everylabel.errors import ConfigError
from everylabel.text.identifier import known_codes
from everylabel.workflow.languages import MOST_CHARACTERS, detect_language

NORTH, SOUTH = ["sv", "nb", "da", "nn", "is"], ["es", "pt", "it", "fr", "ca"]
WEST, SLAVIC, EAST = ["de", "nl", "en", "lb"], ["cs", "sk", "pl", "sl", "hbs"], ["ru", "uk", "bg", "mk"]
BALTIC, OTHERS = ["fi", "et", "hu", "lt", "lv"], ["tr", "ro", "el", "id", "sq"]
SENTENCES = [
    ("sv", NORTH, "Bonden sålde sin gamla häst och köpte en liten båt i stället."),
    ("nb", NORTH, "Bonden solgte den gamle hesten sin og kjøpte en liten båt i stedet."),
    ("da", NORTH, "Bonden solgte sin gamle hest og købte en lille båd i stedet for."),
    ("nn", NORTH, "Bonden selde den gamle hesten sin og kjøpte ein liten båt i staden."),
    ("is", NORTH, "Bóndinn seldi gamla hestinn sinn og keypti lítinn bát í staðinn."),
    ("de", WEST, "Der Bauer verkaufte sein altes Pferd und kaufte sich ein kleines Boot."),
    ("nl", WEST, "De boer verkocht zijn oude paard en kocht een kleine boot."),
    ("en", WEST, "The farmer sold his old horse and bought a small boat instead."),
    ("es", SOUTH, "El campesino vendió su viejo caballo y compró una barca pequeña."),
    ("pt", SOUTH, "O camponês vendeu o seu velho cavalo e comprou um barco pequeno."),
    ("it", SOUTH, "Il contadino vendette il suo vecchio cavallo e comprò una piccola barca."),
    ("fr", SOUTH, "Le paysan vendit son vieux cheval et acheta une petite barque."),
    ("ca", SOUTH, "El pagès va vendre el seu cavall vell i va comprar una barca petita."),
    ("cs", SLAVIC, "Sedlák prodal svého starého koně a koupil si malou loďku."),
    ("sk", SLAVIC, "Sedliak predal svojho starého koňa a kúpil si malú loďku."),
    ("pl", SLAVIC, "Chłop sprzedał swojego starego konia i kupił sobie małą łódkę."),
    ("sl", SLAVIC, "Kmet je prodal svojega starega konja in si kupil majhen čoln."),
    ("hbs", SLAVIC, "Seljak je prodao svog starog konja i kupio mali čamac."),
    ("fi", BALTIC, "Talonpoika myi vanhan hevosensa ja osti pienen veneen."),
    ("et", BALTIC, "Talumees müüs oma vana hobuse maha ja ostis väikese paadi."),
    ("hu", BALTIC, "A paraszt eladta öreg lovát, és vett helyette egy kis csónakot."),
    ("ru", EAST, "Крестьянин продал свою старую лошадь и купил маленькую лодку."),
    ("uk", EAST, "Селянин продав свого старого коня і купив маленький човен."),
    ("bg", EAST, "Селянинът продаде стария си кон и купи малка лодка."),
    ("tr", OTHERS, "Köylü yaşlı atını sattı ve yerine küçük bir tekne aldı."),
    ("ro", OTHERS, "Țăranul și-a vândut calul bătrân și a cumpărat o barcă mică."),
    ("el", OTHERS, "Ο χωρικός πούλησε το γέρικο άλογό του και αγόρασε μια μικρή βάρκα."),
]
FIRST_CALL = """
import resource, time, numpy
from everylabel.workflow.languages import detect_language
mb, seconds = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, time.process_time()
detect_language("Talonpoika osti veneen", ["fi", "de", "tr", "pl", "ru"])
print(time.process_time() - seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - mb)
import sys
assert "simplemma" not in sys.modules
"""


@pytest.mark.parametrize(("language", "asked", "text"), SENTENCES, ids=[one[0] for one in SENTENCES])
def test_a_sentence_is_told_from_those_of_related_languages(language: str, asked: list[str], text: str) -> None:
    assert detect_language(text, asked)[0].language == language
    assert detect_language(text.upper(), asked)[0].language == language
    others = [code for code in ("fi", "el", "en", "hu") if code != language][:3]
    assert detect_language(text, others)[0].language is None


def test_scores_are_probabilities_best_first() -> None:
    found = detect_language(SENTENCES[0][2], [*NORTH[:4], "sv"])
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert sum(one.score for one in found) == pytest.approx(1)
    assert {one.language for one in found} == {*NORTH[:4], None}


@pytest.mark.parametrize("text", ["", " \n", "12 34", "\ud800", "=" * 50_000])
def test_what_has_no_letters_is_in_none_of_them(text: str) -> None:
    assert detect_language(text, ["en", "de"])[0].language is None


def test_a_long_text_is_told_by_its_beginning() -> None:
    text = "The farmer sold his old horse. " * (MOST_CHARACTERS // 31 + 1)
    assert detect_language(text + "Talonpoika myi hevosen. " * 9_999, ["fi", "en"]) == detect_language(
        text, ["fi", "en"]
    )


def test_a_language_that_is_not_known_is_told_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match=r"'klingon' cannot be told; these can: .*\bnb\b"):
        detect_language("x", ["en", "klingon"])
    assert {"en", "nb", "no", "hbs", "zh"} <= set(known_codes())
    with pytest.raises(ConfigError):
        detect_language("x", ["zxx"])  # the table's name of no language


def test_the_first_question_takes_less_than_a_second_and_no_dictionary() -> None:
    def asked() -> tuple[float, float]:
        out = subprocess.run([sys.executable, "-c", FIRST_CALL], capture_output=True, text=True, check=True).stdout
        seconds, mb = map(float, out.split())
        return seconds, mb

    runs = [asked() for _ in range(2)]
    assert min(seconds for seconds, _ in runs) < 1
    assert min(mb for _, mb in runs) < 200
