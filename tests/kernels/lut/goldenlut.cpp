// SPDX-License-Identifier: Apache-2.0
// LUT layers against stored vectors: both paths, both precisions, forward, backward, events and relevance. Reads every
// case of $RETROGRADE_GOLDEN/lut, else of tests/data/golden/lut; prints one line per failing case; fails when there is
// none.
#include "core/engine/lut/lutrun.h"
#include "tests/goldenfiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace
{

using namespace retro;

/// What is expected and no path of this kind has given; row scores and events are arrays of the documented path alone.
std::string missingIn(const engine::LutRun& run, const formats::LutCase& given, lut::Path path)
{
    std::string missing;
    for (const auto& expected : given.expected) {
        const std::string& name = expected.first; // clang captures no structured binding where OpenMP is on
        const bool isDocumented = name.starts_with("events_") || name == "backward.row_scores";
        const bool isThere = std::any_of(run.quantities.begin(), run.quantities.end(),
                                         [&](const engine::LutQuantity& one) { return one.name == name; });
        if (!isThere && (path == lut::Path::Documented || !isDocumented)) {
            missing += " " + name;
        }
    }
    return missing;
}

/// What is wrong with one run of a case; empty = nothing.
std::string faultsOf(const formats::LutCase& given, const engine::LutRunOptions& options)
{
    const auto run = engine::runLutCase(given, options);
    if (!run.ok()) {
        return fmt::format(" {}", run.error().text());
    }
    std::string faults;
    for (const engine::LutQuantity& one : run->quantities) {
        if (!one.holds()) {
            faults += fmt::format(" {} is off by {:.3g} (at most {:.3g})", one.name, *one.deviation, one.tolerance);
        }
    }
    const std::string missing = missingIn(*run, given, options.path);
    return missing.empty() ? faults : faults + " not given:" + missing;
}

int failuresOf(const std::filesystem::path& file)
{
    const auto given = formats::readLutCase(file);
    if (!given.ok()) {
        fmt::print("FAIL {}\n", given.error().text());
        return 1;
    }
    int failures = 0;
    for (const lut::Path path : {lut::Path::Fused, lut::Path::Documented}) {
        for (const bool isDouble : {false, true}) {
            engine::LutRunOptions options;
            options.path = path;
            options.isDouble = isDouble;
            options.threads = 2;
            const std::string faults = faultsOf(*given, options);
            if (!faults.empty()) {
                fmt::print("FAIL {} {} {}:{}\n", given->name, path == lut::Path::Fused ? "fused" : "documented",
                           isDouble ? "double" : "float", faults);
                ++failures;
            }
        }
    }
    return failures;
}

} // namespace

int main() { return retro::tests::runGolden("lut", failuresOf); }
