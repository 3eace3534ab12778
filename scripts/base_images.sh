#!/usr/bin/env bash
# Makes base images that tasks with a Dockerfile name, where no image registry can be reached: Debian's packages under the
# name of the wanted image, for podman. They are stand-ins: not the image of that name, but one on which most of what was
# written for it works. Each says so in its label `skill-health.stand-in`, and none replaces an image that has no such label.
#
#     bash scripts/base_images.sh [NAME...]        # all that are known, where none is named
#
# Needs root, debootstrap, podman, pip. Roots are kept below build/bases (BASES), so that an image that was deleted is back
# soon. MIRROR names a mirror of Debian other than the one that debootstrap takes by itself. If SSL_CERT_FILE names a file of
# certificates, as in a network that signs its traffic itself, those that Debian does not know are trusted in the images.
set -euo pipefail
cd "$(dirname "$0")/.."

bases=${BASES:-build/bases}
mirror=${MIRROR:-}
# Verifiers fetch uv from a host of its own; the packages of PyPI hold the same program.
uv=0.9.7
known=(ubuntu:24.04 ubuntu:20.04 python:3.9.19-slim python:3.10-slim python:3.11-slim python:3.12.8-slim python:3.12.9-slim)

say() { printf 'base images: %s\n' "$*" >&2; }

# The release of Debian whose Python is nearest to the wanted one: 3.9, 3.11 or 3.13.
release_of() {
    case $1 in
        ubuntu:24.04 | python:3.10*-slim | python:3.11*-slim) echo bookworm ;;
        ubuntu:20.04 | python:3.8*-slim | python:3.9*-slim) echo bullseye ;;
        python:3.12*-slim | python:3.13*-slim) echo trixie ;;
        *) say "$1: none can be made; known are ${known[*]}" && return 1 ;;
    esac
}

# debootstrap wrote the source of the release's packages; this adds those of its corrections.
add_sources() {
    local mirror
    read -r _ mirror _ < "$2/etc/apt/sources.list"
    {
        # Releases that have ended have no suites of updates any more.
        [ "$1" = bullseye ] || echo "deb $mirror $1-updates main"
        [ "$1" = bullseye ] || echo "deb $mirror-security $1-security main"
    } >> "$2/etc/apt/sources.list"
}

# As the official images have it: no waiting for the disk at each file, no manuals.
write_dpkg() {
    printf 'force-unsafe-io\n' > "$1/etc/dpkg/dpkg.cfg.d/docker-apt-speedup"
    printf 'path-exclude /usr/share/%s/*\n' doc man locale info > "$1/etc/dpkg/dpkg.cfg.d/docker"
    printf 'Acquire::Languages "none";\n' > "$1/etc/apt/apt.conf.d/docker-no-languages"
}

# One file for each certificate of SSL_CERT_FILE that the root does not know.
add_certificates() {
    [ -n "${SSL_CERT_FILE:-}" ] || return 0
    python3 - "$SSL_CERT_FILE" "$1" << 'PY'
import re
import sys
from pathlib import Path

given, root = Path(sys.argv[1]), Path(sys.argv[2])
certificates = re.compile(r"-----BEGIN CERTIFICATE-----\n.+?\n-----END CERTIFICATE-----\n", re.DOTALL)
known = set(certificates.findall((root / "etc/ssl/certs/ca-certificates.crt").read_text()))
unknown = sorted(set(certificates.findall(given.read_text())) - known)
for number, text in enumerate(unknown):
    (root / f"usr/local/share/ca-certificates/added-{number}.crt").write_text(text)
PY
    chroot "$1" update-ca-certificates > /dev/null 2>&1
}

make_root() {
    local release=$1 kind=$2 to=$3 root packages=ca-certificates,python3,python3-venv
    root=$(mktemp -d "$bases/root-XXXXXX")
    # Nearly every task installs these first, which takes longer than all the rest of its image.
    [ "$kind" = python ] && packages+=,netbase,tzdata || packages+=,python3-pip,python3-dev,build-essential,curl,wget
    say "making Debian $release for $kind images"
    debootstrap --variant=minbase --include="$packages" "$release" "$root" ${mirror:+"$mirror"} > "$to.log" 2>&1 ||
        { say "debootstrap failed, see $to.log" && return 1; }
    add_sources "$release" "$root"
    write_dpkg "$root"
    add_certificates "$root"
    python3 -m pip install --quiet --no-deps --root-user-action ignore --target "$root/opt/uv" "uv==$uv"
    mv "$root/opt/uv/bin/uv" "$root/opt/uv/bin/uvx" "$root/usr/local/bin/"
    rm -rf "$root/opt/uv"
    if [ "$kind" = python ]; then
        # As in the official image: an interpreter below /usr/local that pip may install for, whatever Debian's may.
        chroot "$root" python3 -m venv /usr/local
        chroot "$root" env PIP_CERT=/etc/ssl/certs/ca-certificates.crt /usr/local/bin/pip install --quiet --upgrade \
            pip setuptools wheel
    fi
    rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/archives/*.deb "$root/root/.cache"
    tar -C "$root" -c . > "$to.part"
    mv "$to.part" "$to"
    rm -rf "$root"
}

make_image() {
    local name=$1 release kind root store=/etc/ssl/certs/ca-certificates.crt
    release=$(release_of "$name")
    kind=${name%%:*}
    root=$bases/$release-$kind.tar
    if podman image exists "$name"; then
        [ -z "$(podman image inspect --format '{{index .Labels "skill-health.stand-in"}}' "$name")" ] || return 0
        say "$name is here already, and is not a stand-in: left as it is"
        return 0
    fi
    [ -e "$root" ] || make_root "$release" "$kind" "$root"
    podman import --quiet --change "LABEL skill-health.stand-in=\"Debian $release, uv $uv\"" \
        --change "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
        --change "ENV PIP_CERT=$store" --change "ENV SSL_CERT_FILE=$store" --change "ENV REQUESTS_CA_BUNDLE=$store" \
        --change "ENV NODE_EXTRA_CA_CERTS=$store" --change 'CMD ["bash"]' "$root" "localhost/$name" > /dev/null
    say "$name: Debian $release"
}

for needed in debootstrap podman; do
    command -v "$needed" > /dev/null || { say "$needed is missing: install the package $needed" && exit 1; }
done
[ "$(id -u)" -eq 0 ] || { say "needs root, as debootstrap does" && exit 1; }
mkdir -p "$bases"
for name in "${@:-${known[@]}}"; do
    make_image "$name"
done
