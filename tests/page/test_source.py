"""Where a collection comes from: only an address on the web that git names is linked, without whoever asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from filled_records import filled
from hypothesis import given
from hypothesis import strategies as st
from repositories import commit, git

from skill_health.documents.page_data import CollectionSource
from skill_health.page.data.source import file_address, read_source, web_address

COMMIT = "1a2b3c4d" * 5


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://github.com/acme/skills.git", "https://github.com/acme/skills"),
        ("https://user:secret@github.com/acme/skills", "https://github.com/acme/skills"),
        ("git@github.com:acme/skills.git\n", "https://github.com/acme/skills"),
        ("ssh://git@gitlab.example.org:2222/group/sub/skills.git", "https://gitlab.example.org/group/sub/skills"),
        ("http://GitHub.com/acme/skills/", "https://github.com/acme/skills"),
        ("/srv/git/skills.git", ""),
        ("file:///srv/git/skills.git", ""),
        ("ext::sh -c evil", ""),
        ("javascript:alert(1)//github.com/a/b", ""),
        ('https://github.com/acme/"><script>alert(1)</script>', ""),
        ("https://github.com/../../etc", ""),
        ("https://localhost/acme/skills", ""),
        ("", ""),
    ],
)
def test_addresses(remote: str, address: str) -> None:
    assert web_address(remote) == address


@given(st.text(max_size=60) | st.builds("https://{}@github.com/{}".format, st.text(max_size=12), st.text(max_size=20)))
def test_an_address_is_plain_whatever_a_repository_names(remote: str) -> None:
    address = web_address(remote)
    assert not address or (
        address.startswith("https://") and not set(address) & set("\"'<>@ \n?#\\") and address.isascii()
    )


@pytest.mark.parametrize(
    ("repository", "line", "address"),
    [
        ("https://github.com/a/b", 3, f"https://github.com/a/b/blob/{COMMIT}/in/s/SKILL.md#L3"),
        ("https://github.com/a/b", 0, f"https://github.com/a/b/blob/{COMMIT}/in/s/SKILL.md"),
        ("https://gitlab.example.org/a/b", 3, f"https://gitlab.example.org/a/b/-/blob/{COMMIT}/in/s/SKILL.md#L3"),
        ("https://bitbucket.org/a/b", 3, f"https://bitbucket.org/a/b/src/{COMMIT}/in/s/SKILL.md#lines-3"),
        ("https://codeberg.org/a/b", 3, f"https://codeberg.org/a/b/src/commit/{COMMIT}/in/s/SKILL.md#L3"),
        ("https://git.example.org/a/b", 3, ""),
        ("", 3, ""),
    ],
)
def test_a_file_is_linked_where_the_host_is_known(repository: str, line: int, address: str) -> None:
    told = {"name": "a/b", "repository": repository, "commit": COMMIT, "folder": "in"}
    assert file_address(filled(CollectionSource, told), "s/SKILL.md", line) == address
    assert file_address(filled(CollectionSource, told | {"commit": None}), "s/SKILL.md", line) == ""


def test_the_path_of_a_file_cannot_leave_its_place() -> None:
    told = {"name": "", "repository": "https://github.com/a/b", "commit": COMMIT, "folder": ""}
    found = file_address(filled(CollectionSource, told), 'x"><b>#?/SKILL.md', 1)
    assert found == f"https://github.com/a/b/blob/{COMMIT}/x%22%3E%3Cb%3E%23%3F/SKILL.md#L1"


def test_a_collection_is_named_by_its_repository(tmp_path: Path) -> None:
    assert read_source(str(tmp_path)) == CollectionSource(name="", repository="", commit=None, folder="")

    inner = tmp_path / "plugins"
    inner.mkdir()
    (inner / "file").write_text("x", encoding="utf-8")
    git(tmp_path, "init", "--quiet")
    assert read_source(str(inner)).commit is None
    made = commit(tmp_path)
    git(tmp_path, "remote", "add", "origin", "git@github.com:acme/skills.git")
    assert read_source(str(inner)) == CollectionSource(
        name="acme/skills", repository="https://github.com/acme/skills", commit=made, folder="plugins"
    )
