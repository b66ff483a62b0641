#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Format, length of lines, links and words of pages, comments of the public API, what clang cannot read; then warnings
# as errors and cognitive complexity over 15. Prints every finding and fails when there is one. --quick: only the first
# five, which need no build and take seconds; ctest runs them as `lint_quick`.
set -uo pipefail
cd "$(dirname "$0")/../.."
failures=0
readonly large_lines=600
readonly long_line=120

report() { printf '%s\n' "$*"; failures=$((failures + 1)); }

# report_all: every line of the input is a finding.
report_all() {
    local line
    while read -r line; do
        report "$line"
    done
}

finish() {
    printf '%s findings\n' "$failures"
    [ "$failures" -eq 0 ]
    exit
}

sources() { git ls-files '*.cpp' '*.h'; }

git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo "not a working copy: nothing to compare"; exit 77; }

if command -v clang-format-14 >/dev/null; then
    echo "== format (clang-format 14)"
    report_all < <(sources | xargs -P "$(nproc)" -n 40 clang-format-14 --dry-run -Werror 2>&1 |
        sed -n 's/^\([^:]*\):.*clang-format-violations.*/\1: not formatted; run clang-format-14 -i \1/p' | sort -u)
else
    echo "== format: clang-format-14 is not installed, left out"
fi

# Sources are held by clang-format, except for what it cannot break. A table of Markdown has one line per row.
echo "== lines (at most $long_line characters)"
report_all < <(git ls-files '*.md' '*.sh' '*.awk' dev |
    LC_ALL=C.UTF-8 xargs grep -HnoE ".{$((long_line + 1)),}" | grep -vE '\.md:[0-9]+: *\|' |
    sed -E 's/^([^:]*:[0-9]+):.*/\1: longer than '"$long_line"' characters/')

if [ -x /usr/bin/python3 ]; then
    echo "== links and words of the pages"
    report_all < <(git ls-files '*.md' | xargs /usr/bin/python3 tests/lint/pages.py)
else
    echo "== links and words: python3 is not installed, left out"
fi

echo "== public functions of core and kernels have a comment"
report_all < <(git ls-files 'core/*.h' 'kernels/*.h' | xargs awk -f tests/lint/undocumented.awk)

echo "== instructions that only g++ knows (sanitizers compile with clang)"
report_all < <(git grep -n '__builtin_shuffle(' -- core kernels views app | while IFS=: read -r file line rest; do
    grep -q '__clang__' "$file" || echo "$file:$line: clang has __builtin_shufflevector"
done)

# A sign to think, and no finding: a file of one thing may be long, and two halves of one thing are no better. It is
# split where it holds two things. A small header that serves one other file only is such a half (docs/architecture.md).
echo "== long files (over $large_lines lines: look whether they hold two things)"
sources | xargs wc -l |
    awk -v most="$large_lines" '$2 != "total" && $1 > most { printf "note: %s: %d lines\n", $2, $1 }'

[ "${1:-}" = "--quick" ] && finish

echo "== warnings as errors"
# File by file and without precompiled headers: clang cannot read those of GCC, and every file must name what it needs.
# Without the optimiser: it takes most of the time, and what GCC 12 says behind it of std::vector and std::optional is
# mostly wrong. Sanitizers look for that.
cmake --preset release -B build/lint -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -DNDEBUG" -DRETRO_WERROR=ON \
    -DRETRO_BATCH=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null || exit 1
cmake --build build/lint -j "$(nproc)" >build/lint/build.log 2>&1 || {
    grep -E 'error|warning' build/lint/build.log | head -n 40
    report "the build has warnings or errors; see build/lint/build.log"
}

# SonarSource, whose measure this is, takes 15 for most languages and 25 for C++.
echo "== cognitive complexity (clang-tidy 14, at most 15 per function)"
readonly complexity=readability-function-cognitive-complexity
report_all < <(git ls-files 'core/*.cpp' 'kernels/*.cpp' 'views/*.cpp' 'app/*.cpp' |
    xargs -P "$(nproc)" -n 4 clang-tidy-14 -p build/lint --quiet --extra-arg=-Wno-everything \
        --checks="-*,$complexity" --config="{CheckOptions: [{key: $complexity.Threshold, value: 15},
            {key: $complexity.IgnoreMacros, value: true}]}" 2>/dev/null | grep 'warning:' | sort -u)

finish
