#!/usr/bin/env bash
# The main job over the fixtures: lint and score them; then two daily runs over a copy of the healthy collection,
# with a careless edit between them, and the drift report that follows. Writes below build/demo/ only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=$PWD/${1:-.venv/bin/python}
out=$PWD/build/demo

# Shows a command and runs it; findings and drift (exit code 1) are what the demo is about, anything worse ends it.
show() {
    local code=0
    printf '\n$ skill-health %s\n' "$*"
    "$python" -m skill_health "$@" || code=$?
    [ "$code" -le 1 ] || exit "$code"
}

keep() {
    git add --all
    git -c user.name=demo -c user.email=demo@example.com commit --quiet --message "$1"
}

rm -rf "$out"
mkdir -p "$out/collection"
show lint fixtures --score

cp -R fixtures/skills fixtures/registries fixtures/skill-health.toml "$out/collection"
cd "$out/collection"
git init --quiet
keep "A healthy collection"
show daily

skill=skills/changelog-entries
sed -i.bak -e '/^## Gotchas/,/^## Integration/{' -e '/^## Integration/!d' -e '}' "$skill/SKILL.md"
rm -f "$skill/SKILL.md.bak"
printf '\nThis makes releases 37%% faster.\n' >> "$skill/SKILL.md"
keep "A careless edit"
show daily

printf '\nWritten:\n'
cd - > /dev/null
find build/demo -path '*/reports/*' -type f
