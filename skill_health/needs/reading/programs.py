"""What is known of programs: those that every shell has, the languages, and what the others need beside themselves.

A program that is not listed is one that must be installed, and nothing more is known of it. From the programs' manuals,
2026-11.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

PLAIN = frozenset(
    """
    . : [ alias arch awk base32 base64 basename bash bg break builtin cat cd chgrp chmod chown cksum clear cmp column comm
    command continue cp csplit cut date dd declare df diff dirname dirs du echo egrep env eval exec exit expand export
    expr factor false fg fgrep fi find fmt fold getopts grep groups gunzip gzip hash head hexdump history hostname id install join
    jobs kill less let link ln local locale logname ls man md5sum mkdir mkfifo mktemp more mv nice nl nohup nproc numfmt
    od paste pathchk popd pr printenv printf ps pushd pwd read readlink readonly realpath return rm rmdir sed select seq
    set sh sha1sum sha256sum sha512sum shasum shift shopt shuf sleep sort source split stat stty sum sync tac tail tar tee test
    time timeout top touch tr trap true truncate tsort tty type typeset ulimit umask unalias uname unexpand uniq unlink
    unset uptime users wait watch wc which whereis who whoami xargs yes zcat zsh dash ksh fish clear reset sudo su mount
    free pgrep pkill killall chsh crontab file md5 dir cls copy move del ren
    where if then else for while do done function
    """.split()
)
"""What a plain shell has: builtins, coreutils, and what comes with any small Linux."""

RUNTIMES = {
    "Python": "python python3 python2 py pip pip3 pipx poetry pdm hatch conda mamba virtualenv venv ipython jupyter pytest ruff mypy "
    "black flake8 isort tox nox uv uvx pyright bandit pylint coverage celery gunicorn uvicorn streamlit flask django-admin alembic "
    "python3.11 python3.12 python3.10 python3.13 pip-audit twine sphinx-build mkdocs pre-commit rye micromamba",
    "Node": "node npm npx yarn pnpm pnpx bun bunx deno tsx ts-node tsc eslint prettier jest vitest nvm corepack vite next webpack "
    "mocha nodemon lerna turbo nx node-gyp esbuild rollup yo",
    ".NET": "dotnet nuget msbuild csc csi dotnet-trace dotnet-dump dotnet-counters",
    "Java": "java javac mvn gradle gradlew mvnw jar jshell kotlinc kotlin sbt scala",
    "Go": "go gofmt golangci-lint gotestsum",
    "Rust": "cargo rustc rustup rustfmt cross",
    "Ruby": "ruby gem bundle bundler rails rake rspec irb rubocop",
    "PHP": "php composer phpunit artisan phpstan",
    "Perl": "perl cpan cpanm prove",
    "R": "Rscript R",
    "Swift": "swift swiftc",
    "Elixir": "elixir mix iex erl rebar3",
    "Julia": "julia",
    "Haskell": "ghc cabal stack",
    "Dart": "dart flutter",
    "Lua": "lua luajit luarocks",
    "PowerShell": "pwsh powershell",
    "CUDA": "nvidia-smi nvcc torchrun deepspeed accelerate nsys ncu",
}
"""The programs of each language or system; what they run needs the language."""

BARE = frozenset(
    """
    python python3 python2 py python3.10 python3.11 python3.12 python3.13 pip pip3 node java javac ruby gem php perl
    Rscript R lua julia pwsh powershell venv virtualenv elixir pytest bun deno swift dart conda rustc
    """.split()
)
"""The interpreters and compilers among them: to have these is to have the language, and no tool beside it."""

_TAGS = {
    "network": """
        gh glab hub curl wget ssh scp rsync sftp ftp aws gcloud gsutil bq az vercel netlify wrangler flyctl fly heroku railway
        render supabase firebase doctl kubectl helm terraform tofu pulumi eksctl oc stripe twilio shopify ngrok cloudflared
        huggingface-cli hf openai gemini codex claude yt-dlp youtube-dl gog clawhub clawdhub himalaya bird mcporter
        summarize op bw databricks snowsql snow dbt sf sfdx jira acli linear notion slack modal replicate runpod vastai
        nslookup dig whois ping traceroute nmap http https httpie xh goat asc fastlane expo eas cloudfoundry cf oci ibmcloud
        aliyun tccli doppler vault infisical sentry-cli datadog-ci newrelic circleci buildkite travis nuclei subfinder httpx
        ffuf gobuster nikto sqlmap hydra wpscan amass whatweb feroxbuster newman ytmusicapi spotdl gallery-dl lynx w3m aria2c gws
        msmtp mail sendmail mutt agent-browser playwright-cli solana spl-token cast starkli near aptos sui uipath-network
        inference skills-sh firecrawl tvly exa serper apify hcloud linode-cli scw vultr wp drush
    """,
    "auth": """
        gh glab hub aws gcloud gsutil bq az vercel netlify wrangler flyctl fly heroku railway supabase firebase doctl stripe
        twilio shopify op bw databricks snowsql snow sf sfdx jira acli linear notion gog himalaya bird modal replicate runpod
        doppler vault infisical sentry-cli datadog-ci circleci eas fastlane asc hcloud linode-cli scw oci ibmcloud aliyun gws
        terraform tofu pulumi eksctl kubectl helm tvly exa apify spogo
    """,
    "services": "docker docker-compose podman nerdctl minikube kind k3d colima ollama redis-server postgres mongod nginx caddy "
    "systemctl launchctl pm2 supervisorctl service localstack vllm skaffold tilt",
    "database": "psql mysql mariadb mongosh mongo sqlite3 redis-cli pg_dump pg_restore mysqldump sqlcmd clickhouse-client bq snowsql "
    "snow duckdb cqlsh influx cypher-shell dbt sqlplus pgcli litecli usql prisma drizzle-kit alembic flyway liquibase "
    "createdb dropdb pg_isready mongodump neo4j",
    "browser": "playwright puppeteer cypress agent-browser chromium google-chrome chrome chromedriver lighthouse pa11y "
    "playwright-cli peekaboo selenium axe backstop browser-use dev-browser firefox backstopjs chromium-browser",
    "service-state": "gh glab jira acli linear kubectl himalaya gog bird eksctl gws",
    "mac": "osascript defaults xcodebuild xcrun xcode-select simctl pbcopy pbpaste say sips launchctl codesign plutil mdfind mdls "
    "diskutil networksetup pmset remindctl memo imsg peekaboo things shortcuts xcodegen pod swiftlint "
        "screencapture notarytool icalbuddy textutil qlmanage",
    "agent": "claude codex gemini opencode cursor-agent aider amp qwen goose copilot droid cline crush openclaw clawdbot moltbot",
    "device": "adb idevice_id ideviceinstaller arduino-cli esptool esptool.py openocd platformio pio wacli sonos blu eightctl openhue nmcli hcitool "
    "bluetoothctl lp lpr lpstat camsnap",
}  # fmt: skip
_KNOWN = """
    git jq yq rg fd ag ack fzf bat make cmake ninja gcc g++ clang clang++ cc ld gdb lldb valgrind objdump nm readelf strings strace ltrace
    ffmpeg ffprobe sox imagemagick convert magick identify mogrify exiftool pandoc pdftotext pdftoppm pdfimages pdfinfo qpdf
    pdftk tesseract ocrmypdf ghostscript gs libreoffice soffice unoconv wkhtmltopdf weasyprint latex pdflatex xelatex lualatex latexmk
    bibtex biber tectonic typst dot graphviz mmdc plantuml inkscape rsvg-convert cwebp optipng gifsicle
    openssl gpg ssh-keygen age sops semgrep codeql trivy grype syft snyk gitleaks trufflehog checkov tfsec hadolint shellcheck
    shfmt actionlint yamllint markdownlint vale cppcheck clang-tidy clang-format bazel buck meson scons autoconf
    slither echidna medusa foundry forge anvil hardhat truffle solc halmos certora mythril manticore aderyn
    afl-fuzz afl-clang-fast honggfuzz radare2 r2 ghidra ida binwalk checksec ropper frida objection apktool jadx dex2jar
    llvm-profdata llvm-cov llvm-symbolizer wasm-pack wasm2wat yara clamscan xxd zip unzip 7z unrar p7zip bc dc parallel tmux screen tree
    lsof netstat ss nc ncat netcat ip ifconfig socat tcpdump tshark wireshark jaq dasel xmllint xsltproc csvkit csvcut csvlook mlr xsv qsv
    brew apt apt-get dnf yum pacman apk snap choco winget scoop nix nix-env port
    code cursor subl vim nano emacs nvim direnv mise asdf just task ansible ansible-playbook packer vagrant act
    hyperfine k6 ab wrk hey siege locust vegeta jmeter artillery perf flamegraph
    xterm say whisper whisper-cpp piper espeak demucs manim blender openscad freecad gnuplot
    protoc buf grpcurl grpc_cli thrift swagger openapi-generator spectral redocly graphql-codegen
    svn hg bd beads entire lazygit delta difft ast-grep sg comby tokei cloc scc ctags tree-sitter
    dbt sqlfluff airflow dagster prefect great_expectations
    rustscan samtools bcftools bwa blast blastn snakemake nextflow bedtools gatk obabel vina gmx
    zizmor fickling cosign notation rekor-cli
    obsidian wacli songsee nano-pdf spotify_player lychee htmlhint linkinator stylelint
"""


class ProgramFacts(NamedTuple):
    """What a program stands for: the runtime that it is of, "" for none, and the other needs that it brings."""

    runtime: str
    tags: frozenset[str]
    listed: bool


@cache
def _table() -> dict[str, ProgramFacts]:
    runtimes = {name: runtime for runtime, names in RUNTIMES.items() for name in names.split()}
    tags: dict[str, set[str]] = {}
    for tag, names in _TAGS.items():
        for name in names.split():
            tags.setdefault(name, set()).add(tag)
    known = {*runtimes, *tags, *_KNOWN.split()}
    return {name: ProgramFacts(runtimes.get(name, ""), frozenset(tags.get(name, ())), True) for name in known}


_UNKNOWN = ProgramFacts("", frozenset(), False)


def facts_of(program: str) -> ProgramFacts:
    """What is known of a program; nothing of one that is not listed."""
    return _table().get(program, _UNKNOWN)


def is_tool(program: str) -> bool:
    """Whether a program must be installed beside a plain shell and the interpreter of a language."""
    return program not in PLAIN and program not in BARE


AMBIGUOUS = frozenset(
    "make go r node say time code task things act less near op bird age sort hey cross bat port service slack notion linear render modal "
    "exa heroku fly goose copilot droid crush amp render shortcuts memo asc things sf oc cf just serve flask things piper dot stack forge "
    "foundry truffle ida strings port parallel screen tree mix image convert identify sui cast primer".split()
)
"""Programs whose names are words of English or of products: inline code alone does not show that they are run."""


def installs_skill(program: str, words: tuple[str, ...]) -> bool:
    """Whether a command only installs this skill, or a plugin of the host."""
    line = " ".join((program, *words[:4]))
    return any(
        part in line
        for part in (
            "skills add",
            "clawhub",
            "clawdhub",
            "plugin install",
            "plugin marketplace",
            "add-skill",
            "skill install",
            "npx skills",
            "skills install",
        )
    )
