#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Format, warnings as errors, cognitive complexity over 10, undocumented public API, file size. Prints every finding, fails when there is one.
set -uo pipefail
cd "$(dirname "$0")/../.."
failures=0
readonly max_lines=600

report() { printf '%s\n' "$*"; failures=$((failures + 1)); }

sources() { git ls-files '*.cpp' '*.h'; }

echo "== format (clang-format 14)"
while read -r file; do
    clang-format-14 --dry-run -Werror "$file" >/dev/null 2>&1 || report "$file: not formatted; run clang-format-14 -i $file"
done < <(sources)

echo "== file size (at most $max_lines lines)"
while read -r file; do
    lines=$(wc -l <"$file")
    [ "$lines" -le "$max_lines" ] || report "$file: $lines lines; split it"
done < <(sources)

echo "== public functions of core and kernels have a comment"
while read -r line; do
    report "$line"
done < <(git ls-files 'core/*.h' 'kernels/*.h' | xargs awk -f tests/lint/undocumented.awk)

echo "== warnings as errors"
# File by file and without precompiled headers: clang cannot read those of GCC, and every file must name what it needs.
cmake --preset release -B build/lint -DRETRO_WERROR=ON -DRETRO_BATCH=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null || exit 1
cmake --build build/lint -j "$(nproc)" >build/lint/build.log 2>&1 || {
    grep -E 'error|warning' build/lint/build.log | head -n 40
    report "the build has warnings or errors; see build/lint/build.log"
}

echo "== cognitive complexity (clang-tidy 14, at most 10 per function)"
complex=$(git ls-files 'core/*.cpp' 'kernels/*.cpp' 'views/*.cpp' 'app/*.cpp' | xargs -P "$(nproc)" -n 4 clang-tidy-14 -p build/lint --quiet \
    --extra-arg=-Wno-everything --checks='-*,readability-function-cognitive-complexity' \
    --config='{CheckOptions: [{key: readability-function-cognitive-complexity.Threshold, value: 10}, {key: readability-function-cognitive-complexity.IgnoreMacros, value: true}]}' 2>/dev/null |
    grep 'warning:' | sort -u)
if [ -n "$complex" ]; then
    printf '%s\n' "$complex"
    failures=$((failures + $(printf '%s\n' "$complex" | wc -l)))
fi

printf '%s findings\n' "$failures"
[ "$failures" -eq 0 ]
