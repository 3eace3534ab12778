#!/usr/bin/env bash
# The histories of our own fixtures in reports/: health and drift, free routers, and a script in the place of an agent (its
# effects are made up and labelled so), then the page of all of it. The daily job runs it and keeps the histories.
# Usage: scripts/reports.sh [PYTHON]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${1:-.venv/bin/python}
if [[ $python == */* && $python != /* ]]; then python=$PWD/$python; fi
reports=$PWD/reports
export PYTHONPATH=$PWD

# Findings, drift and results that say something bad are what the reports are for; anything worse ends the job.
keep() {
    local code=0
    "$python" -m simulators "$@" || code=$?
    [[ $code -le 1 ]] || exit "$code"
}

cd fixtures
keep daily --reports "$reports"
keep router run --models lexical:bm25,lexical:overlap --out "$reports" --quiet
keep effectiveness run tasks --agents scripted --arms target,negative,target_plus_one --reps 1 --sandbox none --out "$reports" --quiet
keep report --reports "$reports"
