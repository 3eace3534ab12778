"""Texts as terms: stems by language, pairs of characters without spaces, pieces of words; hostile text is only text."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.text import stems
from skill_health.text.similarity import STOP
from skill_health.text.stems import ENGLISH, cut_characters, language_of, latin_share, stem_words

STEMS = [
    ("deploying deployments deployed", ["deploy"]), ("runs running", ["run"]),
    ("The Server's logs", ["server", "s", "log"]), ("parseTables parse tables", ["pars", "tabl"]),
    ("Die Prüfungen der Dienste sind nicht mit der Prüfung fertig", ["prufung", "dien", "sind", "fertig"]),
    ("les fichiers dans le dossier", ["fichi", "dossi"]),
    ("los archivos de una carpeta en el disco", ["archiv", "carpet", "disc"]),
    ("сервер серверы серверов", ["сервер"]), ("ｆｕｌｌ　ｗｉｄｔｈ", ["full", "width"]), ("utf8 v2", ["utf8", "v2"]), ("", []),
    ("--- !!", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "stems"), STEMS, ids=[case[0][:20] for case in STEMS])
def test_words_are_stemmed_by_the_language_of_their_text(text: str, stems: list[str]) -> None:
    assert list(dict.fromkeys(stem_words(text))) == stems


UNSPACED = [
    ("測試報告", ["測試", "試報", "報告"]), ("用API測試", ["用", "api", "測試"]), ("請用", ["請用"]),
    ("テスト deploy する", ["テス", "スト", "deploy", "する"]), ("ทดสอบ", ["ทด", "ดส", "สอ", "อบ"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "terms"), UNSPACED, ids=[case[0] for case in UNSPACED])
def test_where_no_space_parts_words_neighbours_are_terms(text: str, terms: list[str]) -> None:
    assert stem_words(text) == terms


def test_pieces_are_three_to_five_characters_of_a_word_in_spaces() -> None:
    assert cut_characters("Run!") == [" ru", "run", "un ", " run", "run ", " run "]
    assert cut_characters("測試") == ["測", "試", "測試"]
    assert cut_characters("a") == [" a "]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Deploy the service with my keys", ENGLISH), ("", ENGLISH), ("der Server", ENGLISH),
        ("Ich will den Dienst mit dem Server", "german"), ("je veux les fichiers dans le dossier", "french"),
        ("quiero los archivos de la carpeta y el disco", "spanish"), ("voglio gli archivi della cartella nel disco", "italian"),
        ("quero os arquivos da pasta em uma lista", "portuguese"), ("ik wil het bestand van de map niet", "dutch"),
    ],
)  # fmt: skip
def test_function_words_tell_the_language(text: str, language: str) -> None:
    assert language_of(text) == language


WORDS = sorted({*STOP, *(word for words in stems._FUNCTION_WORDS.values() for word in words.split())})


@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_a_language_has_more_function_words_than_english_and_at_least_two(words: list[str]) -> None:
    hits = {name: sum(word in own.split() for word in words) for name, own in sorted(stems._FUNCTION_WORDS.items())}
    best = max(hits, key=lambda name: hits[name])
    english = sum(word in STOP for word in words)
    assert language_of(" ".join(words)) == (best if hits[best] > max(english, 1) else ENGLISH)


@given(st.text())
def test_any_text_has_terms_without_spaces_or_capitals(text: str) -> None:
    for term in stem_words(text):
        assert term and not any(character.isspace() for character in term)
    for piece in cut_characters(text):
        assert 1 <= len(piece) <= 5
    assert stem_words(text) == stem_words(text)
    assert 0 <= latin_share(text) <= 1


def test_long_and_broken_text_is_taken_too() -> None:
    assert len(stem_words("a" * 200_000 + " b\ud800c")) == 3
    assert latin_share("abc 測試試") == 0.5
    assert latin_share("42") == 1.0


def test_a_compiled_twin_of_the_stemmer_changes_nothing() -> None:
    """The package would take `Stemmer` where that is installed; its version may be another."""
    code = (
        "import sys, types\n"
        "twin = types.ModuleType('Stemmer'); twin.algorithms = list; twin.Stemmer = None; sys.modules['Stemmer'] = twin\n"
        "from skill_health.text.stems import stem_words\n"
        "print(stem_words('deploying deployments'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "['deploy', 'deploy']\n", done.stderr
