"""Which addresses nobody answers for: without a name, without encryption, or of a service that anyone may fill."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from skill_health.text.patterns import lazy

_ADDRESS = lazy(r"https?://(?:\[[0-9a-f:.]{2,45}\][^\s\"'`<>|)\]}\\,;]{0,300}|[^\s\"'`<>|)\]}\\,;]{1,300})")
# What curl takes for an address as well.
_BARE = lazy(r"(?<![\w.:/@-])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?:/[^\s\"'`<>|)\]}\\,;]{0,200})?(?![\w.-])")
_IPV4 = lazy(r"\d{1,3}(?:\.\d{1,3}){3}\Z|0x[0-9a-f]{8}\Z|\d{8,10}\Z", re.IGNORECASE)
_LOCAL = lazy(
    r"(?:localhost|127\.\d+\.\d+\.\d+|10\.\d+\.\d+\.\d+|192\.168\.\d+\.\d+|172\.(?:1[6-9]|2\d|3[01])\.\d+\.\d+|"
    r"169\.254\.\d+\.\d+|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.\d+\.\d+|0\.0\.0\.0|\[::1?\]|\[f[cd][0-9a-f:]+\]|"
    r"(?!0x|\d+\Z)[^.\[\]]{1,200}|.{0,200}\.(?:local|localhost|internal|intranet|lan|home|corp))\Z",
    re.IGNORECASE,
)
_STAND_IN = lazy(
    r"[${<%*]|\byour|\bmy-?(?:server|host|domain)",
    re.IGNORECASE,
)

PASTES = frozenset(
    "pastebin.com paste.ee glot.io rentry.co rentry.org hastebin.com hastebin.skyra.pw "
    "ghostbin.com ghostbin.co dpaste.com dpaste.org controlc.com justpaste.it privatebin.net termbin.com ix.io sprunge.us "
    "paste.rs pastes.io pastecode.io paste.mozilla.org 0bin.net bpa.st write.as telegra.ph txt.fyi p.ip.fi "
    "paste.debian.net ideone.com codepad.org".split()
)
DROPS = frozenset(
    "transfer.sh 0x0.st file.io gofile.io anonfiles.com anonfile.com mediafire.com mega.nz mega.io catbox.moe "
    "files.catbox.moe litter.catbox.moe litterbox.catbox.moe temp.sh tmpfiles.org bashupload.com oshi.at uguu.se "
    "pixeldrain.com sendspace.com zippyshare.com workupload.com wetransfer.com we.tl bayfiles.com uploadfiles.io ufile.io "
    "cdn.discordapp.com media.discordapp.net".split()
)
_SHORT = frozenset(
    "bit.ly tinyurl.com t.ly is.gd v.gd cutt.ly goo.gl rb.gy shorturl.at ow.ly tiny.cc t.co s.id rebrand.ly".split()
)
_TUNNELS = frozenset(
    "ngrok.io ngrok.app ngrok.dev ngrok-free.app ngrok-free.dev trycloudflare.com loca.lt serveo.net localhost.run "
    "lhr.life duckdns.org no-ip.org no-ip.biz ddns.net hopto.org zapto.org onion".split()
)
# Where requests are only collected, to be looked at by whoever made the address.
COLLECTORS = frozenset(
    "webhook.site emailhook.site requestbin.com requestbin.net requestcatcher.com beeceptor.com hookb.in "
    "pipedream.net mockbin.org postb.in ptsv3.com oast.fun oast.pro oast.live oast.site oast.online oast.me "
    "interact.sh interactsh.com burpcollaborator.net oastify.com canarytokens.com dnslog.cn ceye.io".split()
)
# Pages that anyone can put up under a name of their choice.
FREE_PAGES = frozenset(
    "vercel.app netlify.app pages.dev workers.dev web.app firebaseapp.com github.io gitlab.io glitch.me surge.sh "
    "onrender.com repl.co replit.app blogspot.com weebly.com wixsite.com notion.site sites.google.com netlify.com "
    "herokuapp.com".split()
)


class Address(NamedTuple):
    """An address in a text: where it is, its host in lower case, and whether it is unencrypted."""

    start: int
    end: int
    shown: str
    host: str
    plain: bool

    @property
    def is_local(self) -> bool:
        """Whether it is of this machine, its network, or a gap for the reader to fill in."""
        return not self.host or _LOCAL.match(self.host) is not None or _STAND_IN.search(self.host) is not None

    @property
    def is_nameless(self) -> bool:
        """Whether it is an IP address of the open network."""
        return not self.is_local and (_IPV4.match(self.host) is not None or self.host.startswith("["))

    def is_of(self, names: frozenset[str]) -> bool:
        """Whether the host is one of these or below one of them."""
        host = self.host
        while host not in names:
            _, dot, host = host.partition(".")
            if not dot:
                return False
        return True

    def doubt(self) -> str:
        """Why nobody answers for what comes from there, for any encryption; "" if there is no reason."""
        if self.is_local:
            return ""
        if self.is_nameless:
            return "an IP address without a name"
        if self.is_of(PASTES):
            return "a paste site"
        if self.is_of(DROPS):
            return "a file drop"
        if self.is_of(_SHORT):
            return "a shortened address"
        if self.is_of(_TUNNELS):
            return "a tunnel or throw-away name"
        return "a collector of requests" if self.is_of(COLLECTORS) else ""

    def doubt_of_way(self) -> str:
        """As `doubt`, or that anyone on the way can change what comes."""
        return self.doubt() or ("an unencrypted address" if self.plain and not self.is_local else "")


def addresses(text: str, offset: int = 0) -> Iterator[Address]:
    """Every address of a text in order; `offset` is added to the positions."""
    for match in _ADDRESS.finditer(text):
        yield _read(match.group(), offset + match.start())


def bare_addresses(text: str, offset: int = 0) -> Iterator[Address]:
    """Every IPv4 address without a scheme, in order."""
    for match in _BARE.finditer(text):
        yield _read(match.group(), offset + match.start())


def _read(found: str, start: int) -> Address:
    shown = found.rstrip(".*")
    scheme, _, rest = shown.rpartition("://")
    host = rest.partition("/")[0].partition("?")[0].partition("#")[0].rpartition("@")[2]
    host = f"{host.partition(']')[0]}]" if host.startswith("[") else host.partition(":")[0]
    return Address(start, start + len(shown), shown, host.lower().rstrip("."), scheme.lower() != "https")
