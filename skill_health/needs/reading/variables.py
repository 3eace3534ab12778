"""Names of environment variables: which hold secrets, and which nobody has to set."""

from __future__ import annotations

from skill_health.text.patterns import lazy

OWN = frozenset(
    """
    HOME PATH PWD USER SHELL TMPDIR TEMP TMP LANG LC_ALL TERM EDITOR HOSTNAME LOGNAME OLDPWD RANDOM SECONDS LINENO IFS PS1
    CLAUDE_PLUGIN_ROOT CLAUDE_SKILL_DIR CLAUDE_PROJECT_DIR CLAUDE_SESSION_ID SKILL_DIR SKILL_ROOT CODEX_HOME ARGUMENTS BASE_DIR
    CLAUDE_PLUGIN_DATA PLUGIN_ROOT XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME VIRTUAL_ENV PYTHONPATH NODE_ENV CI DEBUG COLUMNS
    PROJECT_ROOT CLAUDE_CONFIG_DIR BASH_SOURCE APPDATA LOCALAPPDATA USERPROFILE PROGRAMFILES WORKSPACE OSTYPE PIPESTATUS NO_COLOR
    SCRIPT_DIR OUTPUT_DIR CLAUDE_ENV_FILE CODEX_PLUGIN_ROOT OPENCLAW_HOME FORCE_COLOR UID EUID PPID BASHPID REPLY OPTARG OPTIND
    CC CXX CFLAGS CXXFLAGS LDFLAGS CPPFLAGS MAKEFLAGS RUSTFLAGS GOPATH GOOS GOARCH LD_LIBRARY_PATH DYLD_LIBRARY_PATH DISPLAY
    """.split()
)
"""Variables that a shell, a host, a build or the skill itself sets."""
REQUIRED_WORDS = lazy(r"\b(?:requires?|required|set|export|needs?|must|configure|add|obtain)\b")
"""Words that say that a variable must be set, in lower case."""
_SECRET = lazy(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|CREDENTIALS?|PAT|AUTH|APIKEY|"
    r"ACCESS_KEY(?:_ID)?|PRIVATE_KEY|COOKIE|SESSION|LOGIN)(?:_|$)|TOKEN$|APIKEY$"
)
_NO_SECRET = lazy(
    r"^(?:CI_|MAX_|NUM_|KEYS?$|PASS$|AUTH$|SESSION(?:_ID|_DIR)?$|PRIMARY_KEY|PUBLIC_KEY|FOREIGN_KEY|TOKENS?$|"
    r"KEY$|CACHE_KEY|SSH_AUTH_SOCK|PASS_|SESSION_)|"
    r"_(?:DIR|FILE|PATH|COUNT|LIMIT|LENGTH|NAME|URL|TYPE|MODE|SIZE|USAGE|BUDGET)$|_PASS$"
)


def is_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret."""
    upper = name.upper()
    return _SECRET.search(upper) is not None and _NO_SECRET.search(upper) is None


_SWITCH = lazy(r"^(?:SKIP|DISABLE|NO|DEBUG|VERBOSE|DRY_RUN|USE|ENABLE)_|_(?:DEBUG|VERBOSE|DISABLED?|ENABLED?|DRY_RUN)$")


def is_switch(name: str) -> bool:
    """Whether a variable of this name turns something on or off, and nobody has to set it."""
    return _SWITCH.search(name) is not None


_KEYS_OPTIONAL = lazy(
    r"\b(?:api[- ]?)?(?:keys?|tokens?|credentials?)\b[^.\n]{0,20}\b(?:is|are) \W{0,3}optional\b|\boptional api[- ]?keys?\b"
)


def calls_keys_optional(text: str) -> bool:
    """Whether a sentence in lower case says that keys are optional."""
    return _KEYS_OPTIONAL.search(text) is not None
