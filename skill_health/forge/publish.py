"""One comment that is updated and not repeated, and SARIF as alerts: by GitHub's API and by GitLab's.

A comment is ours if its first line is our marker and its author is the job's own: a stranger's with the same marker
would otherwise pass for ours, and could be edited afterwards.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

from skill_health.core.errors import AbortedError, UsageError
from skill_health.core.files import read_whole

_PAGE, _PAGES = 100, 30
_LONGEST = 65_000
"""Characters of a comment: GitHub takes 65,536, GitLab a million."""
ACTIONS = "github-actions[bot]"
_CUT = "\n\n(The rest is in the summary of the job.)\n"
_TIMEOUT = 30
_MOST = 16 << 20
LOCAL = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class ForgeApi:
    """The address of an API, and the headers that hold its token; these stand in no message."""

    address: str
    headers: Mapping[str, str]

    def call(self, method: str, path: str, values: Mapping[str, Any] | None = None) -> Any:
        """Send JSON and return what comes back, None where that is nothing.

        No redirection is followed, as the token would go with it. Raises AbortedError, which says what was refused.
        """
        import http.client
        from urllib.error import HTTPError, URLError
        from urllib.request import HTTPRedirectHandler, Request, build_opener

        class Stay(HTTPRedirectHandler):
            def redirect_request(self, *_: Any) -> None:
                return None

        body = json.dumps(values).encode("ascii") if values is not None else None
        given = {**self.headers, "Content-Type": "application/json", "User-Agent": "skill-health"}
        request = Request(f"{self.address}{path}", data=body, headers=given, method=method)
        try:
            with build_opener(Stay).open(request, timeout=_TIMEOUT) as answer:
                raw = answer.read(_MOST)
        except HTTPError as error:
            raise AbortedError(f"{method} {path}: refused with {error.code}{_hint(error.code)}") from None
        except (URLError, OSError, http.client.HTTPException) as error:
            raise AbortedError(f"{method} {path}: {getattr(error, 'reason', None) or error}") from None
        try:
            return json.loads(raw) if raw.strip() else None
        except (ValueError, RecursionError):
            raise AbortedError(f"{method} {path}: the answer is no JSON") from None


def _hint(code: int) -> str:
    if code in (401, 403, 404):
        return "; the token may lack the permission (of a pull request from a fork it can only read)"
    return ""


def api_address(environment: Mapping[str, str], variable: str) -> str:
    """The address in a variable of the job.

    Raises UsageError where there is none, or one that sends the token openly.
    """
    from urllib.parse import urlsplit

    address = environment.get(variable, "").rstrip("/")
    parts = urlsplit(address)
    safe = parts.scheme == "https" or (parts.scheme == "http" and parts.netloc.partition(":")[0] in LOCAL)
    if not address or not safe or parts.username:
        raise UsageError(f"{variable} holds no address of an API: this is for jobs of GitHub and GitLab")
    return address


def job_value(environment: Mapping[str, str], *variables: str) -> str:
    """The first of these variables that is set. Raises UsageError, which names them, where none is."""
    for name in variables:
        if found := environment.get(name, "").strip():
            return found
    raise UsageError(f"{' or '.join(variables)} is not set: this is for jobs of GitHub and GitLab")


class CommentThread(Protocol):
    """The comments of one pull or merge request."""

    def list_own(self) -> Iterator[tuple[str, str]]:
        """The id and the text of each comment that the job has written."""

    def create(self, text: str) -> None:
        """Write a comment."""

    def update(self, comment: str, text: str) -> None:
        """Replace the text of a comment."""


class GitHubComments:
    """Those of a pull request of GitHub; `author` is the login of those that are the job's own."""

    def __init__(self, environment: Mapping[str, str], author: str = ACTIONS) -> None:
        self.author, self.api = author, github_api(environment)
        self.repository = quote(job_value(environment, "GITHUB_REPOSITORY"), safe="/")
        self.number = _pull_request(job_value(environment, "GITHUB_EVENT_PATH"))

    def list_own(self) -> Iterator[tuple[str, str]]:
        """As in the protocol."""
        for page in range(1, _PAGES + 1):
            path = f"/repos/{self.repository}/issues/{self.number}/comments?per_page={_PAGE}&page={page}"
            found = _objects(self.api.call("GET", path))
            for each in found:
                if isinstance(user := each.get("user"), dict) and user.get("login") == self.author:
                    yield str(each.get("id")), str(each.get("body") or "")
            if len(found) < _PAGE:
                return

    def create(self, text: str) -> None:
        """As in the protocol."""
        self.api.call("POST", f"/repos/{self.repository}/issues/{self.number}/comments", {"body": text})

    def update(self, comment: str, text: str) -> None:
        """As in the protocol."""
        self.api.call("PATCH", f"/repos/{self.repository}/issues/comments/{quote(comment, safe='')}", {"body": text})


class GitLabNotes:
    """Those of a merge request of GitLab; the token needs the scope `api`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        token = job_value(environment, "GITLAB_TOKEN")
        self.api = ForgeApi(api_address(environment, "CI_API_V4_URL"), {"PRIVATE-TOKEN": token})
        project = quote(job_value(environment, "CI_PROJECT_ID"), safe="")
        request = quote(job_value(environment, "CI_MERGE_REQUEST_IID"), safe="")
        self.path = f"/projects/{project}/merge_requests/{request}/notes"

    def list_own(self) -> Iterator[tuple[str, str]]:
        """As in the protocol."""
        user = self.api.call("GET", "/user")
        own = user.get("id") if isinstance(user, dict) else None
        for page in range(1, _PAGES + 1):
            found = _objects(self.api.call("GET", f"{self.path}?per_page={_PAGE}&page={page}"))
            for each in found:
                if own is not None and isinstance(author := each.get("author"), dict) and author.get("id") == own:
                    yield str(each.get("id")), str(each.get("body") or "")
            if len(found) < _PAGE:
                return

    def create(self, text: str) -> None:
        """As in the protocol."""
        self.api.call("POST", self.path, {"body": text})

    def update(self, comment: str, text: str) -> None:
        """As in the protocol."""
        self.api.call("PUT", f"{self.path}/{quote(comment, safe='')}", {"body": text})


def publish_comment(thread: CommentThread, name: str, text: str) -> str:
    """Make this the text of our comment of this name, and say what was done: created, updated or unchanged."""
    marker = f"<!-- skill-health: {name} -->"
    whole = f"{marker}\n{text.strip()}\n"
    if len(whole) > _LONGEST:
        whole = whole[: whole.rfind("\n", 0, _LONGEST - len(_CUT))] + _CUT
    for comment, held in thread.list_own():
        if held.partition("\n")[0].strip() == marker:
            if held.replace("\r\n", "\n").strip() == whole.strip():
                return "unchanged"
            thread.update(comment, whole)
            return "updated"
    thread.create(whole)
    return "created"


def open_thread(environment: Mapping[str, str], author: str = ACTIONS) -> CommentThread:
    """The comments of the pull or merge request that this job runs for. Raises UsageError where it runs for none."""
    if environment.get("GITLAB_CI"):
        return GitLabNotes(environment)
    return GitHubComments(environment, author)


def upload_sarif(environment: Mapping[str, str], raw: bytes) -> None:
    """Hand the results of this commit to GitHub's code scanning; the token needs `security-events: write`.

    Raises UsageError for what is no SARIF, and AbortedError where GitHub refuses it.
    """
    try:
        runs = json.loads(raw).get("runs")
    except (ValueError, AttributeError, RecursionError):
        runs = None
    if not isinstance(runs, list):
        raise UsageError("the file is no SARIF: `skill-health lint --format sarif --output FILE` writes it")
    repository = quote(job_value(environment, "GITHUB_REPOSITORY"), safe="/")
    values = {
        "commit_sha": job_value(environment, "GITHUB_SHA"),
        "ref": job_value(environment, "GITHUB_REF"),
        "sarif": base64.b64encode(gzip.compress(raw, mtime=0)).decode("ascii"),
        "tool_name": "skill-health",
    }
    github_api(environment).call("POST", f"/repos/{repository}/code-scanning/sarifs", values)


def github_api(environment: Mapping[str, str]) -> ForgeApi:
    """GitHub's API with the token of the job."""
    token = job_value(environment, "GITHUB_TOKEN")
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    return ForgeApi(api_address(environment, "GITHUB_API_URL"), headers)


def _pull_request(event: str) -> int:
    try:
        values = json.loads(read_whole(event, 1 << 26))
        found = values["pull_request"]["number"]
    except (OSError, ValueError, KeyError, TypeError):
        found = None
    if not isinstance(found, int):
        raise UsageError("this job runs for no pull request, so there is nothing to comment on")
    return found


def _objects(values: Any) -> list[dict[str, Any]]:
    if not isinstance(values, list):
        raise AbortedError("the list of comments is none")
    return [each for each in values if isinstance(each, dict)]
