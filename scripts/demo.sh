#!/usr/bin/env bash
# The main job over the fixtures: a healthy collection, a rotten one, and what a month and a careless edit do to a copy of
# the healthy one, to its score and to its routing; a simulated agent with and without the skills; and all of it joined, at
# last as a page. All dates are fixed, so that the output is the same on any day. Writes below build/demo/ only.
# Usage: scripts/demo.sh [PYTHON]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${1:-.venv/bin/python}
[[ $python == /* ]] || python=$PWD/$python
out=build/demo

# The copy is a repository of its own: neither the user's settings of git nor a hook that calls this may interfere.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=demo GIT_AUTHOR_EMAIL=demo@example.com GIT_COMMITTER_NAME=demo GIT_COMMITTER_EMAIL=demo@example.com
# Compiled modules are kept, for one command after the other.
unset PYTHONDONTWRITEBYTECODE
export SKILL_HEALTH_CACHE_DIR=$PWD/$out/cache

bold='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then bold=$'\033[1m' plain=$'\033[0m'; fi

heading() { printf '\n%s== %s ==%s\n' "$bold" "$1" "$plain"; }

# Shows a command and runs it. Findings and drift (exit code 1) are what the demo is about; anything worse ends it.
show() {
    local code=0
    printf '\n%s$ skill-health %s%s\n' "$bold" "$*" "$plain"
    "$python" -m simulators "$@" || code=$?
    [[ $code -le 1 ]] || exit "$code"
}

# Commits all that has changed, at a fixed time.
commit() {
    git add --all
    GIT_AUTHOR_DATE=$1T03:00:00Z GIT_COMMITTER_DATE=$1T03:00:00Z git commit --quiet --message "$2"
}

rm -rf "$out"
mkdir -p "$out/collection"

heading 'A healthy collection'
show lint fixtures --score --as-of 2026-11-21

heading 'Our own skill, which leads an agent through all this: by every rule, opinions included (but for the one that asks for a script)'
show lint skills/skill-health --select ALL --ignore AU001 --fail-on info

heading 'A rotten one: a skill that many hosts skip, and one that knows the answers of its own test'
show lint fixtures/rotten/skills/colon-trap fixtures/rotten/skills/leaky-answers --select frontmatter,leakage

heading 'What else leaks there, and what the rotten skills score'
show lint fixtures/rotten --select leakage --statistics --score

heading 'Drift: the daily run over a copy of the healthy collection'
cp -R fixtures/skills fixtures/registries fixtures/skill-health.toml "$out/collection"
# Nine tasks that a skill should help with, and three that none does.
mkdir "$out/collection/tasks"
cp -R fixtures/tasks/00?-* fixtures/tasks/01[678]-* "$out/collection/tasks"
cd "$out/collection"
printf 'reports/router/\nreports/effectiveness/\nreports/index.html\n' > .gitignore
git init --quiet
commit 2026-11-21 'A healthy collection'
show daily --time 2026-11-21T04:00:00Z

heading 'Do the descriptions route? Two routers that need no model, over 60 labelled requests'
show router run --models lexical:bm25,lexical:overlap --time 2026-11-21T05:00:00Z --quiet

heading 'Do the skills help? A script stands in for the agent, with effects that it makes up, so that this shows the method and nothing else'
# It runs nothing but the oracles and verifiers of our own tasks, so it needs no sandbox; agents do.
show effectiveness run tasks --agents scripted --arms target,negative,target_plus_one --reps 1 --sandbox none --time 2026-11-21T06:00:00Z --quiet

heading 'The page of that day'
show report --as-of 2026-11-21

heading 'A month later: somebody has cut a section, praised the result and reworded a description'
changelog=skills/changelog-entries/SKILL.md
sed -i.orig -e '/^## Gotchas/,/^## Integration/{' -e '/^## Integration/!d' -e '}' "$changelog"
printf '\nReleases with such a changelog are adopted 37 %% faster.\n' >> "$changelog"
sed -i.orig -e 's/^description: .*/description: Helps with CSV files. Use when a file has to be cleaned./' skills/csv-cleaning/SKILL.md
find . -name '*.orig' -delete
commit 2026-12-21 'A careless edit'
show daily --time 2026-12-21T04:00:00Z

heading 'And what the reworded description does to routing: only the prompts that it bears on, and a control sample'
show router sweep --since HEAD~1 --models lexical:bm25,lexical:overlap --time 2026-12-21T05:00:00Z --quiet

heading 'The same edit as a pull request shows it: findings, tokens, prompts, and what was measured and no longer holds'
show delta HEAD~1 --as-of 2026-12-21

heading 'What is known of each skill: health, routing, effect (simulated), and what to ask next'
show status

heading 'All of it as one page, with pictures and what has changed since the last one; it opens from disk'
show report --as-of 2026-12-21

cd - > /dev/null
heading 'Written'
{
    find "$out/collection/reports" -maxdepth 1 -type f ! -name index.html
    find "$out/collection/reports" -name report.md -o -name comparison.md
} | sort
printf '\nOpen this in a browser: %s\n' "$out/collection/reports/index.html"
